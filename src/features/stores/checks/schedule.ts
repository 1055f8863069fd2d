import { and, eq, gt, lt } from 'drizzle-orm'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareInsertNew, prepareUpsert } from '../../../platform/db/prepared.ts'
import { retryDelay } from '../../../platform/queue/retry-delay.ts'
import type { BillingEvent } from '../../billing/inbox/event.ts'
import { readPurchase } from '../../billing/projection/fold-state.ts'
import { findPurchaseKey } from '../../billing/purchases/event-order.ts'
import { findEnd } from '../../billing/purchases/periods.ts'
import { REFRESHES } from '../../billing/purchases/refreshes.ts'
import type { StoresDb } from '../schema.ts'

export type StoreChecks = ReturnType<typeof createStoreChecks>

/** The delays while the store reports no news. */
const OVERDUE = { delays: [10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS], thenMs: DAY_MS }

/** When to query a purchase that should change at `expectedAt`; `attempts`: replies since then without news. */
export function computeRefresh(expectedAt: number, attempts: number, now: number): number {
  return expectedAt > now ? expectedAt : now + retryDelay(attempts, OVERDUE)
}

/** Schedules a check with the store, in case a notification was lost. */
export function createStoreChecks({ db, now }: { db: StoresDb; now: () => Date }) {
  const { storeChecks, subscriptions } = db.tables
  const insert = prepareInsertNew(db, storeChecks)
  const upsert = prepareUpsert(db, storeChecks)
  return { schedule, scheduleClaimCheck, hasProductionChecks }

  /** Schedules a check for the end of the period that the event describes. */
  async function schedule(tx: Tx, event: BillingEvent) {
    const purchaseKey = findPurchaseKey(event)
    const end = findEnd(event)
    if (purchaseKey === null || end === null || event.endedAt !== null) return
    const dueAt = new Date(end + REFRESHES.store.afterMs)
    const isNew = await insert(tx, { purchaseKey, dueAt, attempts: 0, isTokenUnset: false })
    // Reports of other periods may be late.
    if (isNew || !(await isAboutCurrentPeriod(tx, purchaseKey, event))) return
    // After an upgrade, the period may end earlier.
    const mayBeEarlier = dueAt > now()
    await tx
      .update(storeChecks)
      .set({ dueAt, attempts: 0 })
      .where(
        and(
          eq(storeChecks.purchaseKey, purchaseKey),
          mayBeEarlier ? undefined : lt(storeChecks.dueAt, dueAt),
          // A check that tells the store who owns the purchase is due now.
          eq(storeChecks.isTokenUnset, false),
        ),
      )
  }

  async function isAboutCurrentPeriod(tx: Tx, key: string, { transactionId }: BillingEvent) {
    const [row] = await tx
      .select({ state: subscriptions.state })
      .from(subscriptions)
      .where(eq(subscriptions.purchaseKey, key))
    return row !== undefined && readPurchase(row.state).stated?.transactionId === transactionId
  }

  async function hasProductionChecks(): Promise<boolean> {
    const isProduction = and(
      gt(storeChecks.purchaseKey, 'PRODUCTION|'),
      lt(storeChecks.purchaseKey, 'PRODUCTION}'),
    )
    return (await db.read.select().from(storeChecks).where(isProduction).limit(1)).length > 0
  }

  /** The check also tells the store who owns the purchase. */
  async function scheduleClaimCheck(tx: Tx, purchaseKey: string, now: Date) {
    await upsert(tx, { purchaseKey, attempts: 0, dueAt: now, isTokenUnset: true })
  }
}
