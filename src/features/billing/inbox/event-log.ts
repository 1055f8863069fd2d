import { and, asc, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import { compareEvents, type OrderedEvent } from '../lines/event-order.ts'
import { nameIn } from '../projection/folding.ts'
import type { BillingDb } from '../schema.ts'
import { type BillingEvent, readEvent } from './event.ts'

export type EventLog = ReturnType<typeof createEventLog>

/** Some events of a line in their order; `isLast`: the line has none after them. */
type Page = { events: OrderedEvent[]; isLast: boolean }

/** Reads the log as the fold takes it. */
export function createEventLog(db: BillingDb) {
  const { billingEvents } = db.tables
  const columns = {
    body: billingEvents.body,
    orderedAt: billingEvents.orderedAt,
    eventId: billingEvents.eventId,
  }
  const findPage = db.prepareWrite((tx) =>
    tx
      .select(columns)
      .from(billingEvents)
      .where(
        and(
          eq(billingEvents.lineKey, sql.placeholder('lineKey')),
          gt(billingEvents.orderedAt, sql.placeholder('after')),
        ),
      )
      .orderBy(asc(billingEvents.orderedAt))
      .limit(sql.placeholder('limit')),
  )
  return { pageAfter, firstAfterEach, eventsIn }

  /** Events of a line after an instant in ms, about `limit` of them: those of one instant stay together. */
  async function pageAfter(tx: Tx, lineKey: string, after: number, limit: number): Promise<Page> {
    const rows = await findPage(tx).execute({ lineKey, after, limit })
    if (rows.length < limit) return { events: inOrder(rows), isLast: true }
    const last = rows.at(-1)?.orderedAt ?? after
    const whole = rows.filter(({ orderedAt }) => orderedAt < last)
    if (whole.length > 0) return { events: inOrder(whole), isLast: false }
    const group = await tx
      .select(columns)
      .from(billingEvents)
      .where(and(eq(billingEvents.lineKey, lineKey), eq(billingEvents.orderedAt, last)))
    return { events: inOrder(group), isLast: false }
  }

  /** For each of `events`, which may be those of others, the first event of a line that comes after it and names somebody. */
  async function firstAfterEach(tx: Tx, lineKey: string, events: OrderedEvent[]) {
    const since = Math.min(...events.map(({ orderedAt }) => orderedAt)) - 1
    const limit = events.length * SCAN_PAGE_SIZE
    // Up to here one scan reads less than a search for each.
    const page = limit < MAX_SCANNED ? await pageAfter(tx, lineKey, since, limit) : null
    const named = page?.isLast ? page.events.filter((one) => nameIn(one) !== null) : null
    const found = []
    for (const event of events) {
      const next = named ? firstOf(named, event) : await firstAfter(tx, lineKey, event)
      if (next) found.push(next)
    }
    return found
  }

  async function firstAfter(tx: Tx, lineKey: string, event: OrderedEvent) {
    for (let after = event.orderedAt - 1; ; ) {
      const { events, isLast } = await pageAfter(tx, lineKey, after, SCAN_PAGE_SIZE)
      const found = events.find((one) => compareEvents(one, event) > 0 && nameIn(one) !== null)
      if (found || isLast) return found ?? null
      after = events.at(-1)?.orderedAt ?? after
    }
  }

  /** The events of some rows, by the id of their row. */
  async function eventsIn(tx: Tx, rows: string[]): Promise<[row: string, event: OrderedEvent][]> {
    const found = []
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      const some = rows.slice(at, at + ROWS_AT_ONCE)
      const isOne = inArray(billingEvents.id, some)
      found.push(
        ...(await tx
          .select({ ...columns, id: billingEvents.id })
          .from(billingEvents)
          .where(isOne)),
      )
    }
    return found.flatMap((row) => {
      const event = ordered(row)
      return event ? [[row.id, event] as [string, OrderedEvent]] : []
    })
  }
}

const ROWS_AT_ONCE = 500
const SCAN_PAGE_SIZE = 4
const MAX_SCANNED = 5_000

/** The first of a sorted list that comes after `event`. */
function firstOf(sorted: OrderedEvent[], event: OrderedEvent): OrderedEvent | null {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const one = sorted[middle]
    if (one && compareEvents(one, event) > 0) to = middle
    else from = middle + 1
  }
  return sorted[from] ?? null
}

type Row = { body: Uint8Array; orderedAt: number; eventId: string }

/** Bytes of the log as text. */
export function utf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/** An event of the log as the fold takes it. Null for one that has no effect on access. */
export function effective(row: Row & { outcome: string }): OrderedEvent | null {
  return row.outcome === 'ignored' ? null : ordered(row)
}

function ordered(row: Row): OrderedEvent | null {
  const event: BillingEvent | null = readEvent(JSON.parse(utf8(row.body)), row.body)
  return event && { ...event, id: row.eventId, orderedAt: row.orderedAt }
}

/** The events of stored rows in their order. */
export function readStored(rows: (Row & { outcome: string })[]): OrderedEvent[] {
  return rows.flatMap((row) => effective(row) ?? []).toSorted(compareEvents)
}

function inOrder(rows: Row[]): OrderedEvent[] {
  return rows.flatMap((row) => ordered(row) ?? []).toSorted(compareEvents)
}
