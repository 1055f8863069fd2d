import { and, asc, desc, eq, gte, lt, lte, sql } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { OrderedEvent } from '../lines/event-order.ts'
import type { BillingDb } from '../schema.ts'
import {
  atCheckpoint,
  comesAfter,
  type FoldedLine,
  type Folding,
  fold,
  foldUnder,
  fromStored,
  isSameState,
  type Naming,
  toStored,
} from './folding.ts'
import type { ProjectionQueries } from './queries.ts'

/** How the work of folding is cut: events between two checkpoints, and events in one slice. */
export type FoldingSizes = { checkpointEvery: number; sliceEvents: number }

type LineFoldingDeps = {
  db: BillingDb
  eventLog: EventLog
  queries: ProjectionQueries
  sizes: FoldingSizes
}

export type LineFolding = ReturnType<typeof createLineFolding>

/** Which events a line lacks, by their places in time in ms. */
export type Gap = { since: number; until: number }
/** What one slice has left to do; null when the line is done. */
type RemainingGap = Gap | null

/**
 * Folds lines from their last checkpoint before what has changed. After it, the fold ends as soon as a
 * checkpoint comes out as it was: nothing behind it can differ.
 */
export function createLineFolding({ db, eventLog, queries, sizes }: LineFoldingDeps) {
  const { checkpointEvery, sliceEvents } = sizes
  const { subscriptions, lineCheckpoints } = db.tables
  const { updateState } = queries
  const ofLine = eq(lineCheckpoints.lineKey, sql.placeholder('lineKey'))
  const findLastBefore = db.prepareWrite((tx) =>
    tx
      .select()
      .from(lineCheckpoints)
      .where(and(ofLine, lt(lineCheckpoints.upTo, sql.placeholder('since'))))
      .orderBy(desc(lineCheckpoints.upTo))
      .limit(1),
  )
  const findBetween = db.prepareWrite((tx) =>
    tx
      .select()
      .from(lineCheckpoints)
      .where(
        and(
          ofLine,
          gte(lineCheckpoints.upTo, sql.placeholder('first')),
          lte(lineCheckpoints.upTo, sql.placeholder('last')),
        ),
      ),
  )
  const findStates = db.prepareWrite((tx) =>
    tx
      .select({ state: lineCheckpoints.state })
      .from(lineCheckpoints)
      .where(ofLine)
      .orderBy(asc(lineCheckpoints.upTo)),
  )
  const removeAll = db.prepareWrite((tx) => tx.delete(lineCheckpoints).where(ofLine))
  return { added, refold, restart, namingsOf }

  /**
   * A line with one event more; a full tail becomes a checkpoint first. Null, and nothing done, when the line
   * must be folded again for it.
   */
  async function added(tx: Tx, lineKey: string, before: Folding | null, event: OrderedEvent) {
    const isFull = before !== null && before.count >= checkpointEvery
    if (before && !comesAfter(before, event)) return isFull ? null : foldUnder(before, event)
    if (!isFull || before.last.orderedAt === event.orderedAt) return fold(before, event)
    await storeCheckpoint(tx, lineKey, before.last.orderedAt, toStored(before))
    return fold(atCheckpoint(before), event)
  }

  /** Folds the events of a gap into a line, as far as one slice goes. The line must have a row. */
  async function refold(tx: Tx, lineKey: string, { since, until }: Gap): Promise<RemainingGap> {
    const start = await lastBefore(tx, lineKey, since)
    let folding = start && atCheckpoint(start)
    const after = start?.last.orderedAt ?? -1
    const { events, isLast } = await eventLog.pageAfter(tx, lineKey, after, sliceEvents)
    const end = events.at(-1)?.orderedAt ?? after
    const stored = await between(tx, lineKey, since, end)
    for (const [at, event] of events.entries()) {
      folding = fold(folding, event)
      const upTo = event.orderedAt
      if (events[at + 1]?.orderedAt === upTo) continue
      const old = stored.get(upTo)
      const isEndOfSlice = at === events.length - 1 && !isLast
      const isFull = folding.count >= checkpointEvery * (stored.size > 0 ? 2 : 1)
      if (!old && !isEndOfSlice && !(isFull && at < events.length - 1)) continue
      await storeCheckpoint(tx, lineKey, upTo, toStored(folding))
      if (old && upTo >= until && isSameState(toStored(folding), old)) {
        await markCurrent(tx, lineKey)
        return null
      }
      folding = atCheckpoint(folding)
    }
    if (!isLast) return { since: end + 1, until: Math.max(until, end + 1) }
    if (folding) await storeState(tx, lineKey, toStored(folding))
    return null
  }

  /** Nothing behind the checkpoint has changed: the state that is stored holds. */
  async function markCurrent(tx: Tx, lineKey: string) {
    const [row] = await tx.select().from(subscriptions).where(eq(subscriptions.lineKey, lineKey))
    if (!row) return
    const { stale, ...state } = row.state as FoldedLine
    if (stale) await storeState(tx, lineKey, state)
  }

  async function storeState(tx: Tx, lineKey: string, state: FoldedLine) {
    await updateState(tx).execute({ lineKey, state })
  }

  /** Forgets the checkpoints of a line, so that it is folded from its first event. */
  async function restart(tx: Tx, lineKey: string) {
    await removeAll(tx).execute({ lineKey })
  }

  /** All events of a line at which the id that they name changes, in order. */
  async function namingsOf(tx: Tx, lineKey: string, state: FoldedLine): Promise<Naming[]> {
    const rows = await findStates(tx).execute({ lineKey })
    const states = [...rows.map((row) => row.state as FoldedLine), state]
    return states.flatMap(({ tail }) => tail?.names ?? [])
  }

  async function lastBefore(tx: Tx, lineKey: string, since: number): Promise<Folding | null> {
    if (since <= 0) return null
    const [row] = await findLastBefore(tx).execute({ lineKey, since })
    return row ? fromStored(row.state as FoldedLine) : null
  }

  async function between(tx: Tx, lineKey: string, first: number, last: number) {
    const rows = await findBetween(tx).execute({ lineKey, first, last })
    return new Map(rows.map(({ upTo, state }) => [upTo, state as FoldedLine]))
  }

  async function storeCheckpoint(tx: Tx, lineKey: string, upTo: number, state: FoldedLine) {
    await tx
      .insert(lineCheckpoints)
      .values({ lineKey, upTo, state })
      .onConflictDoUpdate({
        target: [lineCheckpoints.lineKey, lineCheckpoints.upTo],
        set: { state },
      })
  }
}
