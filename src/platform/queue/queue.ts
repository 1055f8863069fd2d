import { and, eq, gt, inArray, lte, notInArray, type SQL } from 'drizzle-orm'
import type { AnySQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { HOUR_MS } from '../../lib/time/durations.ts'
import type { Db, Tx } from '../db/db.ts'
import { type Capacity, createWorkers, type WorkersDeps } from './workers.ts'

/** An item that was leased; `leasedUntil` identifies the lease. */
export type Leased<Item> = Item & { leasedUntil: Date }

/**
 * `dueAt`: the next attempt, or the end of the lease if there is no `leasedUntil`. Changing it takes the item over.
 */
export type QueueTable = SQLiteTable & { dueAt: AnySQLiteColumn; leasedUntil?: AnySQLiteColumn }

export type QueueDeps<Table extends QueueTable, Item extends { id: string }> = Omit<
  WorkersDeps<Leased<Item>>,
  'claim' | 'release'
> & {
  db: Pick<Db<unknown>, 'write'>
  table: Table
  id: AnySQLiteColumn
  /** How long an attempt may take before another instance repeats it. */
  leaseMs: number
  /** No item is due later than this after an attempt: a later time was written by a clock that was ahead. */
  maxDelayMs?: number
  /** The next items for which `isDue` holds, as of the last commit, most urgent first. */
  findDue: (isDue: SQL, capacity: Capacity) => PromiseLike<{ id: string }[]>
  load: (tx: Tx, which: SQL) => PromiseLike<Item[]>
  /** Which items `repair` makes due, if the due times of others do not depend on this clock. */
  isRepaired?: () => SQL | undefined
}

export type Queue = ReturnType<typeof createQueue>

const NOT_LEASED = new Date(0)

/** A durable queue in a table that its feature owns. Each item is leased for its attempt, so instances can share it. */
export function createQueue<Table extends QueueTable, Item extends { id: string }>(
  deps: QueueDeps<Table, Item>,
) {
  const { db, table, id, leaseMs, maxDelayMs, findDue, load, isRepaired, now } = deps
  const { dueAt, leasedUntil: leaseEnd = dueAt } = table
  const leaseName = table.leasedUntil ? 'leasedUntil' : 'dueAt'
  const workers = createWorkers<Leased<Item>>({ ...deps, claim, release })
  return { ...workers, lease, finish, retryNow, repair }

  async function claim(capacity: Capacity): Promise<Leased<Item>[]> {
    const conditions = [lte(dueAt, now())]
    if (maxDelayMs !== undefined && capacity.isForAll)
      conditions.push(gt(dueAt, addMs(maxDelayMs + HOUR_MS)))
    for (const isDue of conditions) {
      const due = await findDue(and(isDue, isFree()) as SQL, capacity)
      if (due.length === 0) continue
      const leased = await db.write((tx) => lease(tx, toIds(due), isDue))
      // Another instance may have been faster, and left others.
      return leased.length > 0 ? leased : claim(capacity)
    }
    return []
  }

  /** Leases items for `run`: those of `ids` that are not under way and, with `isDue`, still due. */
  async function lease(tx: Tx, ids: string[], isDue?: SQL): Promise<Leased<Item>[]> {
    const leasedUntil = addMs(leaseMs)
    const leased = await tx
      .update(table)
      .set({ [leaseName]: leasedUntil } as never)
      .where(and(inArray(id, ids), isDue, isFree()))
      .returning({ id })
    const items = await load(tx, inArray(id, toIds(leased)))
    return items
      .toSorted((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id))
      .map((item) => ({ ...item, leasedUntil }))
  }

  /** Ends the lease of an item whose attempt was aborted because the process stops: it is repeated immediately. */
  async function release(item: Leased<Item>) {
    const at = table.leasedUntil ? NOT_LEASED : now()
    await db.write((tx) => update(tx, { [leaseName]: at }, isLeased(item)))
  }

  /**
   * Null removes the item. Returns false, and stores nothing, if it was removed, changed or taken over. `dueAt`: the
   * next attempt.
   */
  async function finish(
    tx: Tx,
    item: Leased<Item>,
    changes: Partial<Table['$inferInsert']> | null,
  ): Promise<boolean> {
    const query = changes === null ? tx.delete(table) : tx.update(table).set(changes as never)
    const finished = await query.where(isLeased(item)).returning()
    const { dueAt: next } = (changes ?? {}) as { dueAt?: Date | null }
    if (next && finished.length > 0) tx.afterCommit(() => workers.wakeAt(next))
    return finished.length > 0
  }

  /** Makes items due now, except those under way. */
  async function retryNow(tx: Tx, which?: SQL) {
    const isWaiting = gt(dueAt, addMs(leaseMs))
    await update(tx, { dueAt: now() }, and(isWaiting, isNotUnderWay(), which))
  }

  /** Makes items due that a fast clock has scheduled too late or leased for too long. */
  async function repair() {
    await db.write(async (tx) => {
      await retryNow(tx, isRepaired?.())
      if (!table.leasedUntil) return
      const isTooLong = gt(table.leasedUntil, addMs(leaseMs))
      await update(tx, { leasedUntil: NOT_LEASED }, and(isTooLong, isNotUnderWay()))
    })
  }

  async function update(tx: Tx, changes: object, which: SQL | undefined) {
    await tx
      .update(table)
      .set(changes as never)
      .where(which)
  }

  function isLeased({ id: itemId, leasedUntil }: Leased<Item>) {
    return and(eq(id, itemId), eq(leaseEnd, leasedUntil))
  }

  function isFree() {
    return and(isNotUnderWay(), table.leasedUntil && lte(table.leasedUntil, now()))
  }

  function isNotUnderWay() {
    return notInArray(id, [...workers.underWay.keys()])
  }

  function addMs(ms: number): Date {
    return new Date(now().getTime() + ms)
  }
}

function toIds<Id>(rows: { id: Id }[]): Id[] {
  return rows.map(({ id }) => id)
}
