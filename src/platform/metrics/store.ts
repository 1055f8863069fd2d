import { and, asc, eq, gte, lt } from 'drizzle-orm'
import { yieldToEventLoop } from '../../lib/concurrency/yield-to-event-loop.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { Tx } from '../db/db.ts'
import type { HistoryDb, Span, ValuesOf } from './schema.ts'

/** Long enough to compare the longest chart of each span with the week before. */
export const RETENTION_MS: Record<Span, number> = {
  minute: 9 * DAY_MS,
  hour: 38 * DAY_MS,
  'tallies 5m': 9 * DAY_MS,
  'tallies 1h': 38 * DAY_MS,
  start: 38 * DAY_MS,
}
/** Rows read in one turn of the event loop: tallies are large. */
const ROWS_PER_TURN: Record<Span, number> = {
  minute: 500,
  hour: 500,
  'tallies 5m': 30,
  'tallies 1h': 30,
  start: 500,
}

type Row<S extends Span> = { at: Date; instance: string; values: ValuesOf<S> }

export type HistoryStore = ReturnType<typeof createHistoryStore>

/** One row per span, time and instance. */
export function createHistoryStore(db: HistoryDb) {
  const { samples } = db.tables
  return { write: db.write, read, find, put, deleteOld }

  /** The rows from `from` up to, but not including, `until`, oldest first. */
  async function read<S extends Span>(span: S, from: number, until: number): Promise<Row<S>[]> {
    const rows: Row<S>[] = []
    const limit = ROWS_PER_TURN[span]
    for (let since = new Date(from); ; ) {
      const page = await db.read
        .select({ at: samples.at, instance: samples.instance, values: samples.values })
        .from(samples)
        .where(and(eq(samples.span, span), gte(samples.at, since), lt(samples.at, new Date(until))))
        .orderBy(asc(samples.at), asc(samples.instance))
        .limit(limit)
      const last = page.at(-1)?.at ?? since
      const isLast = page.length < limit
      // The rows with the last time of a full page are read again with the next page.
      const complete = isLast ? page : page.filter(({ at }) => at < last)
      rows.push(...(complete as Row<S>[]))
      // There are never more instances than rows in a page.
      if (isLast || complete.length === 0) return rows
      since = last
      await yieldToEventLoop()
    }
  }

  async function find<S extends Span>(tx: Tx, span: S, at: Date, instance: string) {
    const [row] = await tx
      .select({ values: samples.values })
      .from(samples)
      .where(and(eq(samples.span, span), eq(samples.at, at), eq(samples.instance, instance)))
    return (row?.values ?? null) as ValuesOf<S> | null
  }

  async function put<S extends Span>(tx: Tx, span: S, { at, instance, values }: Row<S>) {
    await tx
      .insert(samples)
      .values({ span, at, instance, values })
      .onConflictDoUpdate({ target: [samples.span, samples.at, samples.instance], set: { values } })
  }

  async function deleteOld(tx: Tx, now: number) {
    for (const [span, retention] of Object.entries(RETENTION_MS)) {
      const oldest = new Date(now - retention)
      await tx.delete(samples).where(and(eq(samples.span, span), lt(samples.at, oldest)))
    }
  }
}
