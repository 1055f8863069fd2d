import { and, asc, eq, gt } from 'drizzle-orm'
import type { Log } from '../../../lib/log/log.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Backlog } from '../projection/backlog.ts'
import type { Projection } from '../projection/projection.ts'
import { canAffectAccess, findPurchaseKey, type OrderedEvent } from '../purchases/event-order.ts'
import { type BillingDb, INDEX_CONDITIONS } from '../schema.ts'
import type { EventLog } from './event-log.ts'
import { type EventFilter, type EventSearch, hasEventId } from './event-search.ts'

type EventFoldingDeps = {
  db: BillingDb
  projection: Projection
  backlog: Backlog
  eventLog: Pick<EventLog, 'readRow'>
  eventSearch: Pick<EventSearch, 'find'>
  log: Log
}

type OnReplayProgress = (progress: { done: number; failed: number }) => void

export type EventFolding = ReturnType<typeof createEventFolding>

const MAX_RETRIED_PER_RUN = 1_000
const MAX_REPLAYED = 10_000
/** For counting. `MAX_PAGES` limits the time if no index covers the filter: each page reads at most 1,000 events. */
const PAGE_SIZE = 500
const MAX_PAGES = 200

/** Folds events into purchases. An event that cannot be folded is marked as failed, and retried later. */
export function createEventFolding(deps: EventFoldingDeps) {
  const { db, projection, backlog, eventLog, eventSearch, log } = deps
  const { billingEvents } = db.tables
  /** The last failed event that a run has retried. */
  let retriedUpTo = ''
  return { fold, foldOrMarkFailed, retryFailed, replay, countMatching, replayMatching }

  /** Runs in the transaction that stored the event. */
  function fold(tx: Tx, event: OrderedEvent, id: string) {
    return apply(tx, event, id, true)
  }

  /** If the fold fails, undoes it and marks the event as failed. Returns whether it failed. */
  async function foldOrMarkFailed(tx: Tx, event: OrderedEvent, id: string): Promise<boolean> {
    const failure = await tx.attempt(() => fold(tx, event, id))
    if (failure !== null) await markFailed(tx, id, failure)
    return failure !== null
  }

  /** Folds failed events again; each run continues with the next ones. Returns how many succeeded. */
  async function retryFailed(signal: AbortSignal): Promise<number> {
    const failed = await db.read
      .select({ id: billingEvents.id })
      .from(billingEvents)
      .where(and(INDEX_CONDITIONS.failed(billingEvents), gt(billingEvents.id, retriedUpTo)))
      .orderBy(asc(billingEvents.id))
      .limit(MAX_RETRIED_PER_RUN)
    retriedUpTo = failed.length < MAX_RETRIED_PER_RUN ? '' : (failed.at(-1)?.id ?? '')
    let succeeded = 0
    for (const { id } of failed) {
      if (signal.aborted) break
      if (await replayRow(id, false)) succeeded++
    }
    return succeeded
  }

  /** Returns false if the event fails again, null if it is unknown. Dismisses an event that is still unreadable. */
  async function replay(eventId: string): Promise<boolean | null> {
    const [row] = await db.read
      .select({ id: billingEvents.id })
      .from(billingEvents)
      .where(hasEventId(billingEvents, eventId))
    return row ? replayRow(row.id, true) : null
  }

  /** How many events `replayMatching` would replay. `isComplete` is false if more may match. */
  async function countMatching(
    filter: EventFilter,
  ): Promise<{ count: number; isComplete: boolean }> {
    let found = 0
    let after: string | undefined
    for (let page = 0; page < MAX_PAGES && found < MAX_REPLAYED; page++) {
      const { events, next } = await eventSearch.find({ ...filter, after, limit: PAGE_SIZE })
      found += events.length
      if (next === null) return { count: found, isComplete: true }
      after = next
    }
    return { count: Math.min(found, MAX_REPLAYED), isComplete: false }
  }

  /** Replays events one by one, newest first; at most 10,000. */
  async function replayMatching(
    filter: EventFilter,
    onProgress: OnReplayProgress,
    signal: AbortSignal,
  ) {
    let done = 0
    let failed = 0
    for (let after: string | null | undefined; after !== null && done < MAX_REPLAYED; ) {
      const page = await eventSearch.find({ ...filter, after })
      for (const { id } of page.events) {
        if (signal.aborted) return { done, failed, isStopped: true }
        if (!(await replayRow(id, true))) failed++
        done++
        onProgress({ done, failed })
      }
      after = page.next
    }
    return { done, failed, isStopped: false }
  }

  /** Returns whether the event no longer counts as failed. */
  function replayRow(id: string, dismissesUnreadable: boolean): Promise<boolean> {
    return db.write(async (tx) => {
      const [row] = await tx.select().from(billingEvents).where(eq(billingEvents.id, id))
      const event = row && eventLog.readRow(row)
      if (!event || !canAffectAccess(event)) {
        if (row?.outcome === 'failed' && dismissesUnreadable) await dismiss(tx, id)
        return row?.outcome !== 'failed' || dismissesUnreadable
      }
      // An event that could not be read when it was received has no purchase yet.
      const purchaseKey = findPurchaseKey(event)
      await tx.update(billingEvents).set({ purchaseKey }).where(eq(billingEvents.id, id))
      const failure = await tx.attempt(() => apply(tx, event, id, false))
      if (failure !== null) await markFailed(tx, id, failure)
      else {
        const applied = { outcome: 'applied', error: null }
        await tx.update(billingEvents).set(applied).where(eq(billingEvents.id, id))
      }
      return failure === null
    })
  }

  async function dismiss(tx: Tx, id: string) {
    const dismissed = { outcome: 'ignored', error: null }
    await tx.update(billingEvents).set(dismissed).where(eq(billingEvents.id, id))
  }

  async function apply(tx: Tx, event: OrderedEvent, id: string, isNew: boolean) {
    if (await projection.apply(tx, event, id, isNew)) backlog.wakeAfter(tx)
  }

  async function markFailed(tx: Tx, id: string, failure: unknown) {
    tx.afterCommit(() => {
      log.error({ eventRow: id, err: failure }, 'a billing event could not be folded')
    })
    const error = failure instanceof Error ? failure.message.slice(0, 500) : 'unknown'
    await tx.update(billingEvents).set({ outcome: 'failed', error }).where(eq(billingEvents.id, id))
  }
}
