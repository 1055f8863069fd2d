import { createLruMap } from '../../../lib/lru-map.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { toEnvironment } from '../../billing/environment.ts'
import { refusal, type SubmissionResult } from '../model.ts'
import type { Claims } from '../purchases/claims.ts'
import type { PurchaseKind } from './api/answer.ts'
import { PlayApiError } from './api/api-error.ts'
import type { PlayPurchase } from './api/play-store.ts'
import type { PlayContext } from './context.ts'
import type { PendingClaim } from './refresh/pending-claims.ts'
import { hashToken, type KnownPurchase, URGENCY } from './refresh/purchases.ts'
import type { PlayQueue } from './refresh/queue.ts'
import { type KnownItem, toPurchaseKey } from './snapshot.ts'

export type PlaySubmission = {
  store: 'play_store'
  packageName: string
  purchaseToken: string
  productId?: string
  kind?: PurchaseKind
}

/** How long a response is reused for further submissions. */
const FRESH_MS = 10 * MINUTE_MS
/** How long a claim waits for Google to respond, and for a purchase to be paid. */
const CHECKING_MS = 72 * HOUR_MS
const PENDING_MS = 30 * DAY_MS
const MAX_UNKNOWN = 5_000
const LEASE_POLL_MS = 100

export type SubmitPlayPurchase = ReturnType<typeof createPlaySubmissions>

export function createPlaySubmissions(deps: PlayContext & { queue: PlayQueue }) {
  const { db, settings, purchases, pendingClaims, claims, queue, now, log } = deps
  /** Submissions that Google has no record of, and until when (ms) not to query them again. */
  const unknown = createLruMap<string, number>(MAX_UNKNOWN)
  return submit

  async function submit(
    userId: string,
    submission: PlaySubmission,
    takeOver: boolean,
    deadline: AbortSignal,
  ): Promise<SubmissionResult> {
    const { packageName, purchaseToken } = submission
    if (!settings.playPackages.includes(packageName)) return refusal('purchase_of_other_app')
    const tokenHash = hashToken(purchaseToken)
    const before = await purchases.find(db.read, tokenHash)
    const isMissing = before === null || before.goneAt !== null || before.purchaseToken === ''
    // The token may still be valid for another app, kind or product.
    const submitted = JSON.stringify([
      tokenHash,
      packageName,
      submission.kind,
      submission.productId,
    ])
    if (isMissing && (unknown.get(submitted) ?? 0) > now().getTime()) {
      return refusal('purchase_gone')
    }
    const claim = { tokenHash, userId, takeOver, expiresAt: after(CHECKING_MS) }
    const heldBy = before?.items[0]
      ? await claims.findOwner(db.read, toPurchaseKey(before.items[0]))
      : null
    if (before && isFresh(before)) {
      const [item] = before.items
      if (item?.environment === 'SANDBOX' && deps.ignoresSandbox) return ignoredSandbox()
      const results = await db.write(async (tx) => {
        const settled = await claimAtOnce(tx, claim, before.items)
        // With `PLAY_ACKNOWLEDGE=claimed`, the claim allows the acknowledgement.
        const isRefused = settled.get(userId)?.outcome === 'refused'
        if (before.unacknowledgedSince !== null && !isRefused) {
          await purchases.enqueue(tx, before, URGENCY.waiting)
        }
        return settled
      })
      queue.wake()
      return toResult(before.items, results.get(userId), heldBy === userId)
    }
    await db.write(async (tx) => {
      await pendingClaims.keep(tx, claim)
      await purchases.enqueue(tx, toPurchase(submission, before), URGENCY.waiting)
    })
    let leased: KnownPurchase | null = null
    try {
      leased = await leaseBefore(deadline, tokenHash)
      const { answer, items, claimed } = await queue.refreshNow(leased, deadline)
      if (answer.environment === 'SANDBOX' && deps.ignoresSandbox) {
        return ignoredSandbox()
      }
      if (answer.state === 'PENDING') {
        await db.write((tx) => pendingClaims.keep(tx, { ...claim, expiresAt: after(PENDING_MS) }))
        return { ...toStatus(items[0] ?? answer.items[0], answer.environment), outcome: 'pending' }
      }
      // Another request or the queue may have settled the claim in the meantime.
      const results = claimed.has(userId)
        ? claimed
        : await db.write((tx) => claimAtOnce(tx, claim, items))
      return toResult(items, results.get(userId), heldBy === userId)
    } catch (error) {
      if (!(error instanceof PlayApiError)) throw error
      if (error.reason === 'unknown' || error.reason === 'gone') {
        unknown.set(submitted, after(FRESH_MS).getTime())
        // A notification may have arrived in the meantime.
        if (before === null && leased !== null) {
          const unmarked = leased
          await db.write((tx) => purchases.remove(tx, unmarked))
        }
        return refusal('purchase_gone')
      }
      log.warn({ err: error }, 'a submitted purchase could not be checked with Google')
      queue.wake()
      return { ...toStatus(before?.items[0]), outcome: 'checking' }
    }
  }

  async function claimAtOnce(tx: Tx, claim: PendingClaim, items: KnownItem[]) {
    await pendingClaims.keep(tx, claim)
    return pendingClaims.claimForWaiting(tx, claim.tokenHash, items)
  }

  /** Throws `PlayApiError` at the deadline, or if the other request removed a purchase that Google does not have. */
  async function leaseBefore(deadline: AbortSignal, tokenHash: string): Promise<KnownPurchase> {
    for (;;) {
      const leased = await queue.leaseOne(tokenHash)
      if (leased) return leased
      const isRemoved = (await purchases.find(db.read, tokenHash)) === null
      if (isRemoved) throw new PlayApiError('unknown')
      if (deadline.aborted) throw new PlayApiError('unreachable')
      await Bun.sleep(LEASE_POLL_MS)
    }
  }

  /** Whether the last response is recent and no notification has arrived since. */
  function isFresh({ items, askedAt, dueAt, goneAt, purchaseToken }: KnownPurchase): boolean {
    const isRecent = askedAt !== null && askedAt.getTime() + FRESH_MS > now().getTime()
    const isDue = dueAt !== null && dueAt <= now()
    return isRecent && items.length > 0 && !isDue && goneAt === null && purchaseToken !== ''
  }

  function after(ms: number): Date {
    return new Date(now().getTime() + ms)
  }
}

/** The stored purchase is more reliable than what the app submits. */
function toPurchase(submission: PlaySubmission, before: KnownPurchase | null): PlayPurchase {
  const { packageName, purchaseToken, kind = null, productId = null } = submission
  if (before === null || before.goneAt !== null) {
    return { packageName, purchaseToken, kind, productId }
  }
  const known = { kind: before.kind ?? kind, productId: before.productId ?? productId }
  return { ...before, purchaseToken, ...known }
}

function ignoredSandbox() {
  return { ...refusal('sandbox_ignored'), environment: 'sandbox' as const }
}

type ClaimResult = Awaited<ReturnType<Claims['claim']>>

function toResult(
  [item]: KnownItem[],
  result: ClaimResult | undefined,
  wasHeld: boolean,
): SubmissionResult {
  if (item === undefined || result === undefined) return refusal('purchase_gone')
  const status = toStatus(item)
  if (result.outcome === 'refused') return { ...status, ...result }
  return { ...status, outcome: wasHeld ? 'known' : 'bound' }
}

function toStatus(
  item?: Partial<KnownItem> & { endsAt?: number | null },
  environment = item?.environment,
) {
  const end = item?.periodEndsAt ?? item?.endsAt ?? null
  return {
    environment: environment === undefined ? null : toEnvironment(environment),
    transactionId: item?.orderId ?? null,
    productId: item?.productId ?? null,
    expiresAt: end === null ? null : new Date(end).toISOString(),
  }
}
