import { and, asc, desc, eq, gte, lt, lte, sql } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareRemove, prepareUpsert } from '../../../platform/db/prepared.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { OrderedEvent } from '../purchases/event-order.ts'
import type { OwnerMention } from '../purchases/ownership.ts'
import type { Purchase } from '../purchases/purchase.ts'
import type { BillingDb } from '../schema.ts'
import {
  addEvent,
  addOverridden,
  atCheckpoint,
  type FoldState,
  fromStored,
  isNext,
  isSameState,
  type StoredPurchase,
  toRow,
  toStored,
} from './fold-state.ts'
import type { ProjectionQueries } from './queries.ts'

/** `maxReplayed`: a customer with more transfers is replayed in the background, once for several events. */
export type FoldingSizes = { checkpointEvery: number; sliceEvents: number; maxReplayed: number }

type CheckpointsDeps = {
  db: BillingDb
  eventLog: EventLog
  queries: ProjectionQueries
  /** Called with each purchase that was folded again. */
  onPurchase: (tx: Tx, purchaseKey: string, purchase: Purchase) => Promise<void>
  sizes: FoldingSizes
}

export type Checkpoints = ReturnType<typeof createCheckpoints>

/** The events that the state of a purchase lacks, by `orderedAt` in ms. */
export type Gap = { since: number; until: number }
/** Null when the purchase is complete. */
type RemainingGap = Gap | null

/** Folds from the last checkpoint before a change up to the first later checkpoint that stays the same. */
export function createCheckpoints({ db, eventLog, queries, onPurchase, sizes }: CheckpointsDeps) {
  const { checkpointEvery, sliceEvents } = sizes
  const { purchaseCheckpoints } = db.tables
  const { findPurchase, updatePurchase } = queries
  const ofPurchase = eq(purchaseCheckpoints.purchaseKey, sql.placeholder('purchaseKey'))
  const findLastBefore = db.prepareWrite((tx) =>
    tx
      .select()
      .from(purchaseCheckpoints)
      .where(and(ofPurchase, lt(purchaseCheckpoints.upTo, sql.placeholder('since'))))
      .orderBy(desc(purchaseCheckpoints.upTo))
      .limit(1),
  )
  const findBetween = db.prepareWrite((tx) =>
    tx
      .select()
      .from(purchaseCheckpoints)
      .where(
        and(
          ofPurchase,
          gte(purchaseCheckpoints.upTo, sql.placeholder('first')),
          lte(purchaseCheckpoints.upTo, sql.placeholder('last')),
        ),
      ),
  )
  const findStates = db.prepareWrite((tx) =>
    tx
      .select({ state: purchaseCheckpoints.state })
      .from(purchaseCheckpoints)
      .where(ofPurchase)
      .orderBy(asc(purchaseCheckpoints.upTo)),
  )
  const removeAll = prepareRemove(db, purchaseCheckpoints, 'purchaseKey')
  const storeCheckpoint = prepareUpsert(db, purchaseCheckpoints)
  return { append, refold, clear, listMentions }

  /** Stores a due checkpoint first. Returns null and stores nothing if the purchase must be folded again. */
  async function append(
    tx: Tx,
    purchaseKey: string,
    before: FoldState | null,
    event: OrderedEvent,
  ) {
    const isFull = before !== null && before.count >= checkpointEvery
    if (before && !isNext(before, event)) return isFull ? null : addOverridden(before, event)
    if (!isFull || before.last.orderedAt === event.orderedAt) return addEvent(before, event)
    const upTo = before.last.orderedAt
    await storeCheckpoint(tx, { purchaseKey, upTo, state: toStored(before) })
    return addEvent(atCheckpoint(before), event)
  }

  /** Folds one slice of the missing events. The purchase must have a row. */
  async function refold(tx: Tx, purchaseKey: string, { since, until }: Gap): Promise<RemainingGap> {
    const start = await lastBefore(tx, purchaseKey, since)
    let state = start && atCheckpoint(start)
    const after = start?.last.orderedAt ?? -1
    const { events, isLast } = await eventLog.pageAfter(tx, purchaseKey, after, sliceEvents)
    const end = events.at(-1)?.orderedAt ?? after
    const stored = await between(tx, purchaseKey, since, end)
    for (const [at, event] of events.entries()) {
      state = addEvent(state, event)
      const upTo = event.orderedAt
      if (events[at + 1]?.orderedAt === upTo) continue
      const old = stored.get(upTo)
      const endsSlice = at === events.length - 1 && !isLast
      const isFull = state.count >= checkpointEvery * (stored.size > 0 ? 2 : 1)
      if (!old && !endsSlice && !(isFull && at < events.length - 1)) continue
      await storeCheckpoint(tx, { purchaseKey, upTo, state: toStored(state) })
      if (old && upTo >= until && isSameState(toStored(state), old)) {
        await markCurrent(tx, purchaseKey)
        return null
      }
      state = atCheckpoint(state)
    }
    if (!isLast) return { since: end + 1, until: Math.max(until, end + 1) }
    if (state) {
      await storeState(tx, purchaseKey, toStored(state))
      await onPurchase(tx, purchaseKey, state.purchase)
    }
    return null
  }

  /** Nothing after the checkpoint has changed, so the stored state is correct. */
  async function markCurrent(tx: Tx, purchaseKey: string) {
    const row = await findPurchase(tx, { purchaseKey })
    if (!row) return
    const { stale, ...state } = row.state
    if (stale) await storeState(tx, purchaseKey, state)
  }

  async function storeState(tx: Tx, purchaseKey: string, state: StoredPurchase) {
    await updatePurchase(tx, { purchaseKey }, toRow(state))
  }

  async function clear(tx: Tx, purchaseKey: string) {
    await removeAll(tx, { purchaseKey })
  }

  /** The owner mentions of a purchase, in order. */
  async function listMentions(
    tx: Tx,
    purchaseKey: string,
    state: StoredPurchase,
  ): Promise<OwnerMention[]> {
    const rows = await findStates(tx).execute({ purchaseKey })
    const states = [...rows.map((row) => row.state), state]
    return states.flatMap(({ tail }) => tail?.names ?? [])
  }

  async function lastBefore(tx: Tx, purchaseKey: string, since: number): Promise<FoldState | null> {
    if (since <= 0) return null
    const [row] = await findLastBefore(tx).execute({ purchaseKey, since })
    return row ? fromStored(row.state) : null
  }

  async function between(tx: Tx, purchaseKey: string, first: number, last: number) {
    const rows = await findBetween(tx).execute({ purchaseKey, first, last })
    return new Map(rows.map(({ upTo, state }) => [upTo, state]))
  }
}
