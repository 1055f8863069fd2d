import { sha256 } from '../../../../lib/crypto/hash.ts'
import type { Json } from '../../../../lib/text/json.ts'
import type { Reader, Tx } from '../../../../platform/db/db.ts'
import { retryDelay } from '../../../../platform/queue/retry-delay.ts'
import { redactForLog } from '../../json.ts'
import { type PlayAnswer, parseReply } from '../api/answer.ts'
import { PlayApiError } from '../api/api-error.ts'
import type { PlayReply } from '../api/play-store.ts'
import type { PlayContext } from '../context.ts'
import { playEvent } from '../event.ts'
import { type KnownItem, readSnapshots, toPurchaseKey } from '../snapshot.ts'
import { planAfter, planAfterFailure, planUnacknowledged, RETRIES } from './next-refresh.ts'
import { hashToken, type KnownPurchase, URGENCY } from './purchases.ts'

export type RefreshPurchase = ReturnType<typeof createPurchaseRefresh>

/** In these states a purchase is paid for, so it can be acknowledged. */
const ACKNOWLEDGEABLE = ['ACTIVE', 'IN_GRACE_PERIOD', 'CANCELED', 'ON_HOLD', 'PAUSED', 'PURCHASED']

/** How many times an acknowledgement waits for the response about the purchase that this one replaces. */
const MAX_OWNER_ATTEMPTS = 5

/** Queries a leased purchase, records the response, and acknowledges the purchase. */
export function createPurchaseRefresh(deps: PlayContext) {
  const { db, play, purchases, pendingClaims, claims, eventInbox, snapshots, now } = deps
  const { playAcknowledge: acknowledgement } = deps.settings
  return refresh

  /** Returns the results of users' claims, and the error of a failed acknowledgement. Throws `PlayApiError`. */
  async function refresh(purchase: KnownPurchase, signal?: AbortSignal) {
    const askedAt = now()
    let reply: Json = {}
    try {
      // The seal key is lost, or the purchase has expired at Google.
      if (purchase.purchaseToken === '') throw new PlayApiError('gone')
      const replied = await play.read(purchase, signal)
      reply = replied.reply
      const answer = parseReply(replied.kind, reply)
      const { items, plan, claimed, isOwnerUnknown } = await db.write((tx) =>
        record(tx, purchase, replied, answer, askedAt),
      )
      // The acknowledgement names the owner, who may depend on the purchase that this one replaces.
      const error = isOwnerUnknown
        ? null
        : await acknowledge({ ...purchase, kind: answer.kind }, answer, items, plan)
      return { answer, items, claimed, error }
    } catch (error) {
      if (!(error instanceof PlayApiError)) throw error
      await db.write(async (tx) => {
        const plan = signal?.aborted ? {} : planAfterFailure(purchase, error, now())
        const isFinished = await purchases.finish(tx, purchase, plan)
        if (isFinished && error.reason === 'unreadable')
          await recordUnreadable(tx, purchase, reply, askedAt)
      })
      throw error
    }
  }

  /** Keeps the response for operators; empty if it was too long. */
  async function recordUnreadable(
    tx: Tx,
    { tokenHash }: KnownPurchase,
    reply: Json,
    askedAt: Date,
  ) {
    const document = { unreadable: redactForLog(reply), tokenHash, askedAt: askedAt.getTime() }
    const bytes = Buffer.from(JSON.stringify(document))
    await eventInbox.recordOnce(tx, {
      provider: 'play_store',
      event: playEvent(document),
      bytes,
      hash: sha256(bytes, 'hex'),
    })
  }

  async function record(
    tx: Tx,
    purchase: KnownPurchase,
    replied: PlayReply,
    answer: PlayAnswer,
    askedAt: Date,
  ) {
    const { tokenHash, packageName, items: known } = purchase
    const { linkedToken } = answer
    // Google no longer names the former purchase once this one is acknowledged.
    const linkedHash = linkedToken === null ? purchase.linkedHash : hashToken(linkedToken)
    const linked = linkedHash === null ? null : await purchases.find(tx, linkedHash)
    // A clock that was ahead must not make this response older than the last one.
    const lastAt = await Promise.all(
      known.map((item) => snapshots.latestAt(tx, 'play_store', toPurchaseKey(item))),
    )
    const mainOwner = await findOwner(tx, known)
    // When a user resubscribes in the Play Store, Google names the original buyer, even if another user has claimed it.
    const isInherited =
      answer.userId === null || (answer.isOutOfApp && (await isClaimed(tx, linked?.items ?? [])))
    const { deliveries, items } = readSnapshots({
      ...replied,
      answer,
      askedAt: askedAt.getTime(),
      orderedAt: Math.max(askedAt.getTime(), ...lastAt.map((at) => at + 1)),
      packageName,
      tokenHash,
      known,
      mainOwner: mainOwner === answer.userId ? null : mainOwner,
      inheritedOwner: isInherited && linked ? await findOwner(tx, linked.items) : null,
    })
    const isReplaced = items[0] ? await purchases.isReplaced(tx, tokenHash, items[0].line) : false
    // A purchase that replaces this one may have the same original order id.
    for (const delivery of isReplaced ? [] : deliveries) await snapshots.record(tx, delivery)
    if (linkedToken !== null && linkedHash !== purchase.linkedHash) {
      const old = { purchaseToken: linkedToken, packageName, kind: answer.kind, productId: null }
      await purchases.enqueue(tx, old, URGENCY.changed)
    }
    const claimed = await pendingClaims.claimForWaiting(tx, tokenHash, items)
    const needsAcknowledgement =
      !answer.isAcknowledged && ACKNOWLEDGEABLE.includes(answer.state) && items.length > 0
    const retry = {
      dueAt: new Date(now().getTime() + retryDelay(purchase.attempts, RETRIES)),
      attempts: purchase.attempts + 1,
      misses: 0,
      urgency: URGENCY.waiting,
    }
    const isLinkedUnknown =
      linkedHash !== null &&
      (linked === null || (linked.items.length === 0 && linked.dueAt !== null))
    const isOwnerUnknown =
      isLinkedUnknown && answer.userId === null && purchase.attempts < MAX_OWNER_ATTEMPTS
    const plan = isOwnerUnknown ? retry : planAfter(answer, purchase.attempts, now())
    const isFinished = await purchases.finish(tx, purchase, {
      kind: answer.kind,
      productId: items[0]?.productId ?? purchase.productId,
      line: items[0]?.line.split('#')[0] ?? null,
      items,
      linkedHash,
      askedAt,
      goneAt: null,
      unacknowledgedSince: needsAcknowledgement ? new Date(answer.startedAt ?? askedAt) : null,
      // The acknowledgement that follows ends the lease.
      ...(needsAcknowledgement && !isOwnerUnknown
        ? { ...retry, leasedUntil: purchase.leasedUntil }
        : plan),
    })
    if (!isFinished) throw new PlayApiError('busy')
    return { items, plan, claimed, isOwnerUnknown }
  }

  /** Returns why Google refused; the purchase is then due again soon. */
  async function acknowledge(
    purchase: KnownPurchase,
    answer: PlayAnswer,
    items: KnownItem[],
    plan: ReturnType<typeof planAfter>,
  ): Promise<PlayApiError | null> {
    const [item] = items
    if (answer.isAcknowledged || !item || !ACKNOWLEDGEABLE.includes(answer.state)) return null
    const isAllowed =
      acknowledgement === 'recorded' ||
      (acknowledgement === 'claimed' && (await isClaimed(db.read, items)))
    if (isAllowed) {
      const owner = answer.isOutOfApp ? ((await findOwner(db.read, items)) ?? answer.userId) : null
      try {
        await play.acknowledge(purchase, item.productId, owner)
      } catch (error) {
        if (!(error instanceof PlayApiError)) throw error
        await db.write((tx) => purchases.finish(tx, purchase, {}))
        return error
      }
    }
    const settled = isAllowed
      ? { ...plan, unacknowledgedSince: null }
      : planUnacknowledged(plan, now())
    await db.write((tx) => purchases.finish(tx, purchase, settled))
    return null
  }

  async function isClaimed(from: Reader, items: KnownItem[]): Promise<boolean> {
    const [item] = items
    return item !== undefined && (await claims.findClaimant(toPurchaseKey(item), from)) !== null
  }

  async function findOwner(from: Reader, items: KnownItem[]) {
    const [item] = items
    return item ? claims.findOwner(from, toPurchaseKey(item)) : null
  }
}
