import { and, asc, desc, eq, gt, inArray, lt, or } from 'drizzle-orm'
import { yieldToEventLoop } from '../../../lib/concurrency/yield-to-event-loop.ts'
import { beginsWith, countUpTo } from '../../../platform/db/key-ranges.ts'
import { type Environment, storedEnvironment } from '../environment.ts'
import { parseOriginalId } from '../purchases/purchase-key.ts'
import { type BillingDb, FREQUENT_TYPES, INDEXED_MARKS } from '../schema.ts'
import { PROVIDERS } from './event.ts'
import { type EventDetails, toEventDetails } from './event-details.ts'
import { type EventLog, utf8 } from './event-log.ts'
import type { SignedRecords } from './signed-records.ts'
import type { Transactions } from './transactions.ts'

export type EventFilter = {
  type?: string | undefined
  outcome?: 'applied' | 'ignored' | 'failed' | undefined
  environment?: Environment | undefined
  user?: string | undefined
  conflicting?: boolean | undefined
  clockIsOff?: boolean | undefined
  /** Default: `-received`, newest first. */
  sort?: (typeof EVENT_ORDERS)[number] | undefined
  /** Events after this id, for the next page. */
  after?: string | undefined
  limit?: number | undefined
}

export const EVENT_ORDERS = ['received', '-received'] as const

type Events = BillingDb['tables']['billingEvents']
type EventRow = Pick<Events['$inferSelect'], keyof ReturnType<typeof columnsOf>>

type EventSearchDeps = {
  db: BillingDb
  eventLog: Pick<EventLog, 'readEvent'>
  transactions: Pick<Transactions, 'keysBeginningWith'>
  signedRecords: Pick<SignedRecords, 'read'>
}

export type EventSearch = ReturnType<typeof createEventSearch>

const PAGE_SIZE = 50
/** Rows read in one turn of the event loop, and for one page. */
const ROWS_PER_TURN = 500
const MAX_ROWS_SCANNED = 1_000
const MAX_COUNTED = 1_000
const MARKED = ['failed', 'conflicting', 'clockIsOff'] as const

/** Finds events by time of receipt, using an index and never reading the whole log. */
export function createEventSearch({ db, eventLog, transactions, signedRecords }: EventSearchDeps) {
  const { billingEvents, billingAliases, subscriptions } = db.tables
  const columns = columnsOf(billingEvents)
  return {
    find,
    findAll,
    show,
    withDetails,
    count,
    countStored,
    countFailed,
    countMarked,
    latest,
    exists,
    customerIdsOf,
  }

  /**
   * The newest events that match, or the oldest. `next` is the `after` of the following page; null on the last page. A filter that no
   * index covers scans at most 1,000 events; `scannedBackTo` is then the time of the last one.
   */
  async function find({ after, limit = PAGE_SIZE, sort, ...filter }: EventFilter) {
    const batchSize = isIndexed(filter) ? limit + 1 : ROWS_PER_TURN
    const events: EventRow[] = []
    let last: EventRow | undefined
    for (let scanned = 0; scanned < MAX_ROWS_SCANNED; scanned += batchSize) {
      const rows = await rowsAfter(last?.id ?? after, { ...filter, sort }, batchSize)
      for (const row of rows) {
        if (!matches(row, filter)) continue
        if (events.length === limit)
          return { events, next: events.at(-1)?.id ?? null, scannedBackTo: null }
        events.push(row)
      }
      if (rows.length < batchSize) return { events, next: null, scannedBackTo: null }
      last = rows.at(-1)
      await yieldToEventLoop()
    }
    return { events, next: last?.id ?? null, scannedBackTo: last?.receivedAt ?? null }
  }

  /** Scans back as far as necessary. */
  async function findAll({ limit = PAGE_SIZE, ...filter }: EventFilter): Promise<EventRow[]> {
    const found: EventRow[] = []
    for (let after = filter.after; found.length < limit; ) {
      const page = await find({ ...filter, after, limit: limit - found.length })
      found.push(...page.events)
      if (page.next === null) break
      after = page.next
    }
    return found
  }

  function rowsAfter(after: string | undefined, filter: EventFilter, limit: number) {
    const [isLater, inOrder] = filter.sort === 'received' ? [gt, asc] : [lt, desc]
    const { id } = billingEvents
    return db.read
      .select(columns)
      .from(billingEvents)
      .where(and(indexedPart(filter), after === undefined ? undefined : isLater(id, after)))
      .orderBy(inOrder(id))
      .limit(limit)
  }

  /** An event by its sender's id, with its body as text; null if it is unknown. */
  async function show(eventId: string) {
    const isEvent = hasEventId(billingEvents, eventId)
    const [row] = await db.read.select().from(billingEvents).where(isEvent)
    if (!row) return null
    // Operators' scripts read `lineKey`.
    const { purchaseKey: lineKey, body, ...event } = row
    const signed = await signedRecords.read(event.id)
    const { isRefund } = readFacts(row.provider, body)
    const found = { ...event, lineKey, isRefund, body: utf8(body) }
    return { ...found, ...(signed === null ? {} : { signed }) }
  }

  /** How many events match, up to 1,001; null if no index covers the filter. */
  async function count({ after: _, limit: _limit, sort: _sort, ...filter }: EventFilter) {
    if (!isIndexed(filter)) return null
    return countUpTo(db.read, billingEvents, billingEvents.id, indexedPart(filter))
  }

  /** Adds each event's product, store and price, from its body. */
  async function withDetails(events: EventRow[]): Promise<(EventRow & EventDetails)[]> {
    const ids = events.map(({ id }) => id)
    const rows = await db.read
      .select({ id: billingEvents.id, provider: billingEvents.provider, body: billingEvents.body })
      .from(billingEvents)
      .where(inArray(billingEvents.id, ids))
    const bodies = new Map(rows.map((row) => [row.id, row]))
    return events.map((event) => {
      const { provider, body } = bodies.get(event.id) ?? { provider: '', body: new Uint8Array() }
      return { ...event, ...readFacts(provider, body) }
    })
  }

  /** Unknown for a body that is erased or cannot be read. */
  function readFacts(provider: string, body: Uint8Array): EventDetails {
    try {
      return toEventDetails(eventLog.readEvent(provider, body))
    } catch {
      return toEventDetails(null)
    }
  }

  async function countStored() {
    return { events: await db.countAppended(billingEvents), failed: await countFailed() }
  }

  async function countFailed(): Promise<number> {
    return await db.read.$count(billingEvents, INDEXED_MARKS.failed(billingEvents))
  }

  /** How many events need attention, counting up to 1,000 of each kind. */
  async function countMarked() {
    const counts = MARKED.map(async (mark) => {
      const isMarked = INDEXED_MARKS[mark](billingEvents)
      const { id } = billingEvents
      return [mark, await countUpTo(db.read, billingEvents, id, isMarked, MAX_COUNTED)] as const
    })
    return Object.fromEntries(await Promise.all(counts)) as Record<(typeof MARKED)[number], number>
  }

  /** When the newest event was received; null before the first. */
  async function latest(): Promise<Date | null> {
    const [row] = await db.read
      .select({ receivedAt: billingEvents.receivedAt })
      .from(billingEvents)
      .orderBy(desc(billingEvents.id))
      .limit(1)
    return row?.receivedAt ?? null
  }

  async function exists(eventId: string): Promise<boolean> {
    const rows = await db.read
      .select({ id: billingEvents.id })
      .from(billingEvents)
      .where(hasEventId(billingEvents, eventId))
    return rows.length > 0
  }

  /** All ids of the customers with the app user id `text`, or with a transaction id that begins with `text`. */
  async function customerIdsOf(text: string): Promise<string[]> {
    const aliases = await db.read
      .select({ customerId: billingAliases.customerId })
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, text))
    const original = parseOriginalId(text)
    const { purchaseKey } = subscriptions
    const purchases = await db.read
      .select({ customerId: subscriptions.customerId })
      .from(subscriptions)
      .where(
        or(
          ...['PRODUCTION', 'SANDBOX'].map((name) =>
            beginsWith(subscriptions.purchaseKey, `${name}|${original}`),
          ),
        ),
      )
      .orderBy(asc(purchaseKey))
      .limit(PAGE_SIZE)
    const keys = await transactions.keysBeginningWith(text)
    const renewed = await db.read
      .select({ customerId: subscriptions.customerId })
      .from(subscriptions)
      .where(inArray(purchaseKey, keys))
    const customers = new Set(
      [...aliases, ...purchases, ...renewed].map(({ customerId }) => customerId),
    )
    if (customers.size === 0) return []
    const ids = await db.read
      .select({ id: billingAliases.appUserId })
      .from(billingAliases)
      .where(inArray(billingAliases.customerId, [...customers]))
      .orderBy(asc(billingAliases.appUserId))
      .limit(PAGE_SIZE)
    return ids.map(({ id }) => id)
  }

  /** The part of a filter that leaves the fewest rows to scan. */
  function indexedPart({ user, outcome, conflicting, clockIsOff, type, environment }: EventFilter) {
    if (user !== undefined) return eq(billingEvents.appUserId, user)
    if (outcome === 'failed') return INDEXED_MARKS.failed(billingEvents)
    if (conflicting) return INDEXED_MARKS.conflicting(billingEvents)
    if (clockIsOff) return INDEXED_MARKS.clockIsOff(billingEvents)
    if (isRare(type)) return and(eq(billingEvents.type, type), INDEXED_MARKS.rare(billingEvents))
    return environment === 'sandbox' ? INDEXED_MARKS.sandbox(billingEvents) : undefined
  }
}

export function hasEventId(events: Events, eventId: string) {
  return and(inArray(events.provider, PROVIDERS), eq(events.eventId, eventId))
}

/** Whether `indexedPart` covers the whole filter. */
function isIndexed(filter: EventFilter): boolean {
  const criteria = Object.entries(filter).filter(
    ([, value]) => value !== undefined && value !== false,
  )
  const [only] = criteria
  if (only === undefined) return true
  const [name, value] = only
  if (criteria.length > 1) return false
  if (name === 'outcome') return value === 'failed'
  if (name === 'environment') return value === 'sandbox'
  return name !== 'type' || isRare(filter.type)
}

function isRare(type: string | undefined): type is string {
  return type !== undefined && !FREQUENT_TYPES.includes(type)
}

/** The columns of a search result: all but the body, which may be large. */
function columnsOf(events: Events) {
  return {
    id: events.id,
    eventId: events.eventId,
    type: events.type,
    receivedAt: events.receivedAt,
    eventAt: events.eventAt,
    environment: events.environment,
    appUserId: events.appUserId,
    outcome: events.outcome,
    error: events.error,
    duplicates: events.duplicates,
    conflicting: events.conflicting,
    clockIsOff: events.clockIsOff,
  }
}

function matches(row: EventRow, filter: EventFilter): boolean {
  const { type, outcome, environment, user, conflicting, clockIsOff } = filter
  return (
    (type === undefined || row.type === type) &&
    (outcome === undefined || row.outcome === outcome) &&
    (environment === undefined || row.environment === storedEnvironment(environment)) &&
    (user === undefined || row.appUserId === user) &&
    (!conflicting || row.conflicting) &&
    (!clockIsOff || row.clockIsOff)
  )
}
