import type { Log } from '../../../lib/log/log.ts'
import { DAY_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import { isPseudonym } from '../../billing/inbox/erasure.ts'
import type { Purchase } from '../../billing/purchases/purchase.ts'
import { parsePurchaseKey } from '../../billing/purchases/purchase-key.ts'
import { AppleApiError } from '../apple/api-error.ts'
import type { AppStore } from '../apple/app-store.ts'
import type { Claims } from '../purchases/claims.ts'
import type { RecordStatement } from '../purchases/snapshots.ts'
import type { StoresDb } from '../schema.ts'
import { OVERDUE_AFTER_MS, OVERDUE_DELAYS_MS, type StoreChecks } from './schedule.ts'

type OverdueDeps = Pick<Claims, 'claimantOf' | 'purchaseOf'> & {
  db: StoresDb
  appStore: AppStore
  checks: StoreChecks
  recordStatement: RecordStatement
  now: () => Date
  log: Log
}

export type Overdue = ReturnType<typeof createOverdue>
type Check = Awaited<ReturnType<StoreChecks['listDue']>>[number]

const MAX_PER_RUN = 500
/** Apple tries to charge a customer for 60 days. */
const GIVE_UP_AFTER_MS = 61 * DAY_MS
const UNREACHABLE_DELAY_MS = 10 * MINUTE_MS

/** Asks the store about purchases whose period has ended without news. */
export function createOverdue(deps: OverdueDeps) {
  const { db, appStore, checks, recordStatement, claimantOf, purchaseOf, now, log } = deps
  return { checkDue, ask }

  /** Makes the checks that are due. Stops when the store refuses the key or limits requests. */
  async function checkDue(signal: AbortSignal) {
    for (const check of await checks.listDue(now(), MAX_PER_RUN)) {
      if (signal.aborted) return
      try {
        await make(check, signal)
      } catch (error) {
        if (!(error instanceof AppleApiError)) throw error
        log.warn({ err: error }, 'a purchase could not be checked with the App Store')
        if (error.reason === 'rejected') {
          await scheduleNext(check)
          continue
        }
        const retryAt = error.retryAt ?? new Date(now().getTime() + UNREACHABLE_DELAY_MS)
        await checks.postpone(check.purchaseKey, check.dueAt, { dueAt: retryAt })
        return
      }
    }
  }

  async function make(check: Check, signal: AbortSignal) {
    const { purchaseKey, isTokenUnset } = check
    const before = await purchaseOf(db.read, purchaseKey)
    const isDue = isTokenUnset || (before !== null && isOverdue(before, now()))
    if (isDue) await ask(purchaseKey, signal)
    if (isTokenUnset) await tellOwner(purchaseKey)
    await scheduleNext(check)
  }

  /** Moves a check to its next time, or removes it when there is none. */
  async function scheduleNext({ purchaseKey, dueAt, attempts }: Check) {
    const purchase = await purchaseOf(db.read, purchaseKey)
    const next = purchase && nextCheckOf(purchase, attempts, now())
    if (next === null) return checks.remove(purchaseKey, dueAt)
    await checks.postpone(purchaseKey, dueAt, {
      dueAt: next,
      attempts: attempts + 1,
      isTokenUnset: false,
    })
  }

  /** Records what the store says about a purchase now. Returns whether it knows the purchase. */
  async function ask(purchaseKey: string, signal?: AbortSignal): Promise<boolean> {
    const { environment, transactionId } = parsePurchaseKey(purchaseKey)
    const deliveries = await appStore.readPurchases(transactionId, environment, signal)
    await db.write(async (tx) => {
      for (const delivery of deliveries) await recordStatement(tx, delivery)
    })
    return deliveries.length > 0
  }

  async function tellOwner(purchaseKey: string) {
    const { environment, transactionId } = parsePurchaseKey(purchaseKey)
    const userId = await claimantOf(purchaseKey)
    // The user may have been deleted in the meantime.
    if (userId === null || isPseudonym(userId)) return
    await appStore.setAccountToken(transactionId, environment, userId)
  }
}

/** Whether its period ended without news, or the store may still collect the payment. */
function isOverdue(purchase: Purchase, now: Date): boolean {
  const { endedAt, refundedAt, billingIssueDetectedAt } = purchase
  const end = endOf(purchase)
  const isSettled = refundedAt !== null || (endedAt !== null && billingIssueDetectedAt === null)
  return !isSettled && end !== null && end + OVERDUE_AFTER_MS <= now.getTime()
}

/** When to check a purchase next; null if its end is known. */
function nextCheckOf(purchase: Purchase, attempts: number, now: Date): Date | null {
  const end = endOf(purchase)
  if (end === null) return null
  if (end + OVERDUE_AFTER_MS > now.getTime()) return new Date(end + OVERDUE_AFTER_MS)
  if (!isOverdue(purchase, now)) return null
  const isInRetry = purchase.billingIssueDetectedAt !== null
  const next = now.getTime() + (isInRetry ? DAY_MS : (OVERDUE_DELAYS_MS[attempts] ?? DAY_MS))
  return next > end + GIVE_UP_AFTER_MS ? null : new Date(next)
}

function endOf({ expiresAt, graceExpiresAt }: Purchase): number | null {
  return expiresAt === null ? null : Math.max(expiresAt, graceExpiresAt ?? 0)
}
