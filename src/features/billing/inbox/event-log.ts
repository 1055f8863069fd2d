import { and, asc, eq, gt, inArray, sql } from 'drizzle-orm'
import { chunk } from '../../../lib/concurrency/chunk.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareForEach } from '../../../platform/db/prepared.ts'
import { compareEvents, type OrderedEvent } from '../purchases/event-order.ts'
import { findOwnerId } from '../purchases/ownership.ts'
import type { BillingDb } from '../schema.ts'
import { type BillingEvent, readEvent as parseEvent } from './event.ts'

export type EventLog = ReturnType<typeof createEventLog>

/** `isLast`: the purchase has no later events. */
type Page = { events: OrderedEvent[]; isLast: boolean }

/** Reads an event of one provider from the document in its body. */
type EventReader = { read(document: unknown): BillingEvent | null }['read']
/** By `provider`; the billing provider has none. */
export type EventReaders = Record<string, EventReader>

/** Reads events in the order in which they are folded. */
export function createEventLog(db: BillingDb, readers: EventReaders) {
  const { billingEvents } = db.tables
  const columns = {
    provider: billingEvents.provider,
    body: billingEvents.body,
    orderedAt: billingEvents.orderedAt,
    eventId: billingEvents.eventId,
  }
  const findPage = prepareForEach(db, (tx, limit) =>
    tx
      .select(columns)
      .from(billingEvents)
      .where(
        and(
          eq(billingEvents.purchaseKey, sql.placeholder('purchaseKey')),
          gt(billingEvents.orderedAt, sql.placeholder('after')),
        ),
      )
      .orderBy(asc(billingEvents.orderedAt))
      .limit(Number(limit)),
  )
  return { pageAfter, firstAfterEach, eventsByRowId, readEvent, readRow, readRows }

  /** About `limit` events. Events with the same time (ms) stay on one page. */
  async function pageAfter(
    tx: Tx,
    purchaseKey: string,
    after: number,
    limit: number,
  ): Promise<Page> {
    const rows = await findPage(tx, String(limit)).execute({ purchaseKey, after })
    if (rows.length < limit) return { events: toSortedEvents(rows), isLast: true }
    const last = rows.at(-1)?.orderedAt ?? after
    const complete = rows.filter(({ orderedAt }) => orderedAt < last)
    if (complete.length > 0) return { events: toSortedEvents(complete), isLast: false }
    const group = await tx
      .select(columns)
      .from(billingEvents)
      .where(and(eq(billingEvents.purchaseKey, purchaseKey), eq(billingEvents.orderedAt, last)))
    return { events: toSortedEvents(group), isLast: false }
  }

  /** For each event, the first later one that names an owner, ignoring suggested owners. */
  async function firstAfterEach(tx: Tx, purchaseKey: string, events: OrderedEvent[]) {
    const since = Math.min(...events.map(({ orderedAt }) => orderedAt)) - 1
    // Rounded up to a power of two, because each limit needs its own prepared statement.
    const limit = 2 ** Math.ceil(Math.log2(events.length * SCAN_PAGE_SIZE))
    // A single scan reads fewer rows than a search for each event.
    const page = limit < MAX_SCANNED ? await pageAfter(tx, purchaseKey, since, limit) : null
    const claims = page?.isLast ? page.events.filter((later) => isClaim(later)) : null
    const found = []
    for (const event of events) {
      const next = claims ? firstLaterThan(claims, event) : await firstAfter(tx, purchaseKey, event)
      if (next) found.push(next)
    }
    return found
  }

  async function firstAfter(tx: Tx, purchaseKey: string, event: OrderedEvent) {
    for (let after = event.orderedAt - 1; ; ) {
      const { events, isLast } = await pageAfter(tx, purchaseKey, after, SCAN_PAGE_SIZE)
      const found = events.find((other) => compareEvents(other, event) > 0 && isClaim(other))
      if (found || isLast) return found ?? null
      after = events.at(-1)?.orderedAt ?? after
    }
  }

  async function eventsByRowId(
    tx: Tx,
    rowIds: string[],
  ): Promise<[row: string, event: OrderedEvent][]> {
    const found = []
    for (const batch of chunk(rowIds, ROWS_PER_QUERY)) {
      const isInBatch = inArray(billingEvents.id, batch)
      found.push(
        ...(await tx
          .select({ ...columns, id: billingEvents.id })
          .from(billingEvents)
          .where(isInBatch)),
      )
    }
    return found.flatMap((row) => {
      const event = toOrderedEvent(row)
      return event ? [[row.id, event] as [string, OrderedEvent]] : []
    })
  }

  /** The events in `rows` that can affect access, in order. */
  function readRows(rows: EventRow[]): OrderedEvent[] {
    return rows.flatMap((row) => readRow(row) ?? []).toSorted(compareEvents)
  }

  /** The event in a row of the log; null if it has no effect on access. */
  function readRow(row: EventRow): OrderedEvent | null {
    return row.outcome === 'ignored' ? null : toOrderedEvent(row)
  }

  function toSortedEvents(rows: Row[]): OrderedEvent[] {
    return rows.flatMap((row) => toOrderedEvent(row) ?? []).toSorted(compareEvents)
  }

  function toOrderedEvent(row: Row): OrderedEvent | null {
    const event = readEvent(row.provider, row.body)
    return event && { ...event, id: row.eventId, orderedAt: row.orderedAt }
  }

  function readEvent(provider: string, body: Uint8Array): BillingEvent | null {
    const document = JSON.parse(utf8(body))
    const read = readers[provider]
    return read ? read(document) : parseEvent(document, body)
  }
}

type Row = { provider: string; body: Uint8Array; orderedAt: number; eventId: string }
export type EventRow = Row & { outcome: string }

const ROWS_PER_QUERY = 500
const SCAN_PAGE_SIZE = 4
const MAX_SCANNED = 5_000

/** Whether an event names the owner of the purchase. */
function isClaim(event: OrderedEvent): boolean {
  return !event.isSuggestedOwner && findOwnerId(event) !== null
}

function firstLaterThan(sorted: OrderedEvent[], event: OrderedEvent): OrderedEvent | null {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const candidate = sorted[middle]
    if (candidate && compareEvents(candidate, event) > 0) to = middle
    else from = middle + 1
  }
  return sorted[from] ?? null
}

export function utf8(bytes: Uint8Array): string {
  return viewBytes(bytes).toString('utf8')
}

/** The same memory as a `Buffer`. */
export function viewBytes(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
