import { asc, eq, gt } from 'drizzle-orm'
import { backfill, createCursor } from '../../../platform/db/batched-changes.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { BillingDb } from '../schema.ts'
import { toRow } from './fold-state.ts'

const ROWS_PER_CHANGE = 200

/** Fills `latestAt` of purchases from before the column existed. */
export function createLatestTimes(db: BillingDb) {
  const { subscriptions, reconciliation } = db.tables
  return { backfill: backfillAll }

  async function backfillAll(signal: AbortSignal) {
    await backfill(db, createCursor(db, reconciliation, 'latest times'), fillAfter, signal)
  }

  async function fillAfter(tx: Tx, after: string) {
    const rows = await tx
      .select()
      .from(subscriptions)
      .where(gt(subscriptions.purchaseKey, after))
      .orderBy(asc(subscriptions.purchaseKey))
      .limit(ROWS_PER_CHANGE)
    for (const { purchaseKey, state, latestAt } of rows) {
      if (latestAt !== 0) continue
      await tx
        .update(subscriptions)
        .set(toRow(state))
        .where(eq(subscriptions.purchaseKey, purchaseKey))
    }
    return rows.at(-1)?.purchaseKey
  }
}
