import { asc, eq, gt, or, type SQL } from 'drizzle-orm'
import type { Log } from '../../../lib/log/log.ts'
import { DAY_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import { createQueue, type Leased } from '../../../platform/queue/queue.ts'
import type { Capacity } from '../../../platform/queue/workers.ts'
import { isPseudonym } from '../../billing/inbox/erasure.ts'
import { findEnd } from '../../billing/purchases/periods.ts'
import type { Purchase } from '../../billing/purchases/purchase.ts'
import { parsePurchaseKey } from '../../billing/purchases/purchase-key.ts'
import { isOverdue, REFRESHES } from '../../billing/purchases/refreshes.ts'
import { AppleApiError } from '../apple/api-error.ts'
import type { AppStore } from '../apple/app-store.ts'
import type { Claims } from '../purchases/claims.ts'
import type { RecordSnapshot } from '../purchases/snapshots.ts'
import { createPause } from '../queue/pause.ts'
import type { StoresDb } from '../schema.ts'
import { computeRefresh } from './schedule.ts'

type OverdueDeps = Pick<Claims, 'findClaimant' | 'findPurchase'> & {
  db: StoresDb
  appStore: AppStore
  recordSnapshot: RecordSnapshot
  now: () => Date
  log: Log
}

export type Overdue = ReturnType<typeof createOverdue>
type Check = Leased<{ id: string; attempts: number; isTokenUnset: boolean }>

const { afterMs, untilMs } = REFRESHES.store
/** Longer than the timeouts of all requests about one purchase. */
const LEASE_MS = 5 * MINUTE_MS
const UNREACHABLE_DELAY_MS = 10 * MINUTE_MS
/** After a problem that affects all checks. */
const PAUSE_MS = 5 * MINUTE_MS

/** Queries the store about purchases whose period has ended without news. */
export function createOverdue(deps: OverdueDeps) {
  const { db, appStore, recordSnapshot, findClaimant, findPurchase, now, log } = deps
  const { storeChecks } = db.tables
  const { purchaseKey: id, attempts, isTokenUnset } = storeChecks
  let paused = createPause(0, now)
  const queue = createQueue({
    db,
    name: 'queue of App Store checks',
    table: storeChecks,
    id,
    slots: 1,
    leaseMs: LEASE_MS,
    findDue,
    load: (tx, which) => tx.select({ id, attempts, isTokenUnset }).from(storeChecks).where(which),
    work: check,
    // The due time of a first check comes from the store's clock.
    isRepaired: () => or(gt(attempts, 0), eq(isTokenUnset, true)),
    now,
    log,
  })
  return { queue, refresh }

  async function findDue(isDue: SQL, { slots }: Capacity) {
    if (paused.isInForce()) return []
    const inOrder = asc(storeChecks.dueAt)
    return db.read.select({ id }).from(storeChecks).where(isDue).orderBy(inOrder).limit(slots)
  }

  /** Queries a purchase if that is still needed, and schedules the next check. */
  async function check(item: Check, signal: AbortSignal) {
    const before = await findPurchase(db.read, item.id)
    try {
      if (item.isTokenUnset || (before !== null && isOverdue(before, afterMs, now().getTime())))
        await refresh(item.id, signal)
      if (item.isTokenUnset) await reportOwner(item.id)
    } catch (error) {
      if (!(error instanceof AppleApiError) || signal.aborted) throw error
      log.warn({ err: error }, 'a purchase could not be checked with the App Store')
      if (error.reason !== 'rejected') return postpone(item, error.retryAt)
    }
    await scheduleNext(item, before)
  }

  /** The store refuses the key, limits requests or cannot be reached: all checks wait. */
  async function postpone(item: Check, retryAt: Date | null) {
    const at = now().getTime()
    paused = createPause(retryAt === null ? PAUSE_MS : retryAt.getTime() - at, now)
    const dueAt = retryAt ?? new Date(at + UNREACHABLE_DELAY_MS)
    await db.write((tx) => queue.finish(tx, item, { dueAt }))
  }

  async function scheduleNext(item: Check, before: Purchase | null) {
    const purchase = await findPurchase(db.read, item.id)
    // Checks are counted from the end of the period, and the store may have reported another end.
    const isNews = (purchase && findEnd(purchase)) !== (before && findEnd(before))
    const earlier = isNews ? 0 : item.attempts
    const dueAt = purchase && computeNextCheck(purchase, earlier, now().getTime())
    const next = { attempts: isNews ? 0 : earlier + 1, isTokenUnset: false }
    await db.write((tx) => queue.finish(tx, item, dueAt && { ...next, dueAt }))
  }

  /** Records what the store reports now. Returns whether it knows the purchase. */
  async function refresh(purchaseKey: string, signal?: AbortSignal): Promise<boolean> {
    const { environment, transactionId } = parsePurchaseKey(purchaseKey)
    const deliveries = await appStore.readPurchases(transactionId, environment, signal)
    await db.write(async (tx) => {
      for (const delivery of deliveries) await recordSnapshot(tx, delivery)
    })
    return deliveries.length > 0
  }

  async function reportOwner(purchaseKey: string) {
    const { environment, transactionId } = parsePurchaseKey(purchaseKey)
    const userId = await findClaimant(purchaseKey)
    // The user may have been deleted in the meantime.
    if (userId === null || isPseudonym(userId)) return
    await appStore.setAccountToken(transactionId, environment, userId)
  }
}

/** Null if no further check is needed. */
function computeNextCheck(purchase: Purchase, attempts: number, now: number): Date | null {
  const end = findEnd(purchase)
  if (end === null) return null
  const expectedAt = end + afterMs
  const isPast = expectedAt <= now
  if (isPast && !isOverdue(purchase, afterMs, now)) return null
  const isInRetry = isPast && purchase.billingIssueDetectedAt !== null
  const next = isInRetry ? now + DAY_MS : computeRefresh(expectedAt, attempts, now)
  return next > end + untilMs ? null : new Date(next)
}
