import { and, eq, gt, inArray, lte, notInArray, type SQL } from 'drizzle-orm'
import type { AnySQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { HOUR_MS } from '../../lib/time/durations.ts'
import type { Db, Tx } from '../db/db.ts'
import { type Capacity, createWorkers, type WorkersDeps } from './workers.ts'

/** An item that was leased; `leasedUntil` identifies the lease. */
export type Leased<Item> = Item & { leasedUntil: Date }

/** `dueAt` is the time of the next attempt, or during an attempt the end of its lease. */
type QueueTable = SQLiteTable & { dueAt: AnySQLiteColumn }

type QueueDeps<Table extends QueueTable, Item extends { id: string }> = Omit<
  WorkersDeps<Leased<Item>>,
  'idOf' | 'claim' | 'release'
> & {
  db: Pick<Db<unknown>, 'write'>
  table: Table
  id: AnySQLiteColumn
  /** How long an attempt may take before another instance repeats it. */
  leaseMs: number
  /** No item is due later than this after an attempt: a later time was written by a clock that was ahead. */
  maxDelayMs?: number
  /** The ids of the next items for which `isDue` holds, as of the last commit. */
  findDue: (isDue: SQL, capacity: Capacity) => Promise<string[]>
  load: (tx: Tx, ids: string[]) => Promise<Item[]>
  /** Which items `repair` makes due, if the due times of others do not depend on this clock. */
  isRepaired?: SQL | undefined
}

/** What a change that adds or changes items needs. */
export type Queue = Pick<ReturnType<typeof createQueue>, 'wakeAfter' | 'retryNow'>

/**
 * A durable queue in a table that its feature owns. Each item is leased for its attempt, by moving `dueAt`, so several
 * instances share the queue. Whoever changes `dueAt` takes the item over: the result of an attempt under way is then not
 * stored.
 */
export function createQueue<Table extends QueueTable, Item extends { id: string }>(
  deps: QueueDeps<Table, Item>,
) {
  const { db, table, id, leaseMs, maxDelayMs, findDue, load, isRepaired, now } = deps
  const { dueAt } = table
  const workers = createWorkers<Leased<Item>>({
    ...deps,
    idOf: (item) => item.id,
    claim,
    // An attempt that is aborted because the process stops is repeated at once.
    release: (item) => db.write((tx) => setDueAt(tx, now(), isLeased(item))),
  })
  return { ...workers, lease, finish, retryNow, repair }

  async function claim(capacity: Capacity): Promise<Leased<Item>[]> {
    const at = now()
    const conditions = [lte(dueAt, at)]
    if (maxDelayMs !== undefined)
      conditions.push(gt(dueAt, new Date(at.getTime() + maxDelayMs + HOUR_MS)))
    for (const isDue of conditions) {
      for (;;) {
        const ids = await findDue(and(isDue, isNotUnderWay()) as SQL, capacity)
        if (ids.length === 0) break
        const leased = await db.write((tx) => lease(tx, ids, isDue))
        // Another instance may have been faster, and left others.
        if (leased.length > 0) return leased
      }
    }
    return []
  }

  /** Leases items for `run`: all of `ids`, or those that are still due. */
  async function lease(tx: Tx, ids: string[], isDue?: SQL): Promise<Leased<Item>[]> {
    const leasedUntil = leaseEnd()
    const leased = await tx
      .update(table)
      .set({ dueAt: leasedUntil } as never)
      .where(and(inArray(id, ids), isDue))
      .returning({ id })
    const items = await load(
      tx,
      leased.map((row) => row.id as string),
    )
    return items.map((item) => ({ ...item, leasedUntil }))
  }

  /**
   * Stores the result of an attempt, or removes the item with null. False, and nothing is stored, if the item was
   * removed, changed or taken over.
   */
  async function finish(
    tx: Tx,
    item: Leased<Item>,
    changes: Partial<Table['$inferInsert']> | null,
  ): Promise<boolean> {
    const query = changes === null ? tx.delete(table) : tx.update(table).set(changes as never)
    const finished = await query.where(isLeased(item)).returning()
    return finished.length > 0
  }

  /** Makes what waits due now, except what is under way. */
  async function retryNow(tx: Tx, which?: SQL) {
    await setDueAt(tx, now(), and(gt(dueAt, leaseEnd()), isNotUnderWay(), which))
  }

  /** Makes due what a clock that was ahead has scheduled too late. */
  async function repair() {
    await db.write((tx) => retryNow(tx, isRepaired))
  }

  async function setDueAt(tx: Tx, at: Date, which: SQL | undefined) {
    await tx
      .update(table)
      .set({ dueAt: at } as never)
      .where(which)
  }

  function isLeased({ id: itemId, leasedUntil }: Leased<Item>) {
    return and(eq(id, itemId), eq(dueAt, leasedUntil))
  }

  function isNotUnderWay() {
    return notInArray(id, [...workers.underWay.keys()])
  }

  function leaseEnd(): Date {
    return new Date(now().getTime() + leaseMs)
  }
}
