import { and, eq, sql } from 'drizzle-orm'
import type { Reader, Tx } from '../../platform/db/db.ts'
import { prepareSelect, prepareUpsert } from '../../platform/db/prepared.ts'
import type { UsageDb } from './schema.ts'

export type Counter = UsageDb['tables']['usageCounters']['$inferSelect']
export type Counters = ReturnType<typeof createCounters>

/** Counters of periods that have not ended, and a history by month. */
export function createCounters({ db }: { db: UsageDb }) {
  const { usageCounters, usageHistory } = db.tables
  const findOne = db.prepareWrite((tx) =>
    tx
      .select()
      .from(usageCounters)
      .where(
        and(
          eq(usageCounters.userId, sql.placeholder('userId')),
          eq(usageCounters.name, sql.placeholder('name')),
          eq(usageCounters.startsAt, sql.placeholder('startsAt')),
        ),
      ),
  )
  const upsert = prepareUpsert(db, usageCounters)
  const findAll = prepareSelect(db, (from) =>
    from
      .select()
      .from(usageCounters)
      .where(eq(usageCounters.userId, sql.placeholder('userId'))),
  )
  return { find, store: upsert, archive, remove, listCounters }

  async function find(
    tx: Tx,
    { userId, name, startsAt }: Pick<Counter, 'userId' | 'name' | 'startsAt'>,
  ): Promise<Counter | undefined> {
    // Drizzle does not encode a placeholder in a condition.
    return (await findOne(tx).execute({ userId, name, startsAt: startsAt.getTime() }))[0]
  }

  async function archive(tx: Tx, { userId, name, startsAt, used }: Counter) {
    if (used === 0) return
    await tx
      .insert(usageHistory)
      .values({ userId, name, month: toMonth(startsAt), used })
      .onConflictDoUpdate({
        target: [usageHistory.userId, usageHistory.name, usageHistory.month],
        set: { used: sql`${usageHistory.used} + ${used}` },
      })
  }

  async function remove(tx: Tx, { userId, name, startsAt }: Counter) {
    const isUser = eq(usageCounters.userId, userId)
    const isPeriod = and(eq(usageCounters.name, name), eq(usageCounters.startsAt, startsAt))
    await tx.delete(usageCounters).where(and(isUser, isPeriod))
  }

  async function listCounters(from: Reader, userId: string): Promise<Counter[]> {
    return await findAll(from).execute({ userId })
  }
}

/** Such as `2026-07`, in UTC. */
export function toMonth(time: Date): string {
  return time.toISOString().slice(0, 7)
}
