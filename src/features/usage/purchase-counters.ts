import { and, eq, inArray, lte, sql } from 'drizzle-orm'
import type { Tx } from '../../platform/db/db.ts'
import { prepareUpsert } from '../../platform/db/prepared.ts'
import type { UsageDb } from './schema.ts'

type PurchaseCounter = UsageDb['tables']['purchaseUsage']['$inferSelect']
type Period = Pick<PurchaseCounter, 'purchaseKey' | 'name' | 'startsAt'>

export type PurchaseCounters = ReturnType<typeof createPurchaseCounters>

/** Counts all owners together, so that a purchase grants each limit once. Counters name no user and outlive users. */
export function createPurchaseCounters({ db }: { db: UsageDb }) {
  const { purchaseUsage } = db.tables
  const { purchaseKey, name, startsAt } = purchaseUsage
  const isPeriod = and(
    eq(purchaseKey, sql.placeholder('purchaseKey')),
    eq(name, sql.placeholder('name')),
    eq(startsAt, sql.placeholder('startsAt')),
  )
  const findUsed = db.prepareWrite((tx) =>
    tx.select({ used: purchaseUsage.used }).from(purchaseUsage).where(isPeriod),
  )
  const findAll = db.read
    .select()
    .from(purchaseUsage)
    .where(eq(purchaseKey, sql.placeholder('purchaseKey')))
    .prepare()
  return { find, store: prepareUpsert(db, purchaseUsage), listCounters, removeEnded }

  /** Null if nothing was used. */
  async function find(tx: Tx, period: Period): Promise<number | null> {
    // Drizzle does not encode a placeholder in a condition.
    const [row] = await findUsed(tx).execute({ ...period, startsAt: period.startsAt.getTime() })
    return row?.used ?? null
  }

  async function listCounters(key: string): Promise<PurchaseCounter[]> {
    return await findAll.execute({ purchaseKey: key })
  }

  /** Deletes up to `limit` counters of periods that ended before a time; returns how many. */
  async function removeEnded(tx: Tx, before: Date, limit: number): Promise<number> {
    const isOver = lte(purchaseUsage.endsAt, before)
    const rows = await tx.select({ purchaseKey }).from(purchaseUsage).where(isOver).limit(limit)
    const keys = [...new Set(rows.map((row) => row.purchaseKey))]
    if (keys.length > 0)
      await tx.delete(purchaseUsage).where(and(isOver, inArray(purchaseKey, keys)))
    return rows.length
  }
}
