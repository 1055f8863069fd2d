import { and, asc, desc, eq, inArray, or } from 'drizzle-orm'
import { AppError, tryTo } from '../../../lib/errors.ts'
import { beginsWith, countUpTo, equals } from '../../../platform/db/key-ranges.ts'
import { findPage } from '../../../platform/lists/find-page.ts'
import { type Condition, createSources } from '../../../platform/lists/sources.ts'
import { type Environment, storedEnvironment } from '../environment.ts'
import { parseOriginalId, parsePurchaseKey } from '../purchases/purchase-key.ts'
import { type BillingDb, FREQUENT_TYPES, INDEX_CONDITIONS } from '../schema.ts'
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
  after?: string | undefined
  limit?: number | undefined
  maxScanned?: number | undefined
}

export const EVENT_ORDERS = ['received', '-received'] as const

type Events = BillingDb['tables']['billingEvents']
type EventRow = Pick<Events['$inferSelect'], keyof ReturnType<typeof selectColumns>>

type EventSearchDeps = {
  db: BillingDb
  eventLog: Pick<EventLog, 'readEvent'>
  transactions: Pick<Transactions, 'keysBeginningWith'>
  signedRecords: Pick<SignedRecords, 'read'>
}

export type EventSearch = ReturnType<typeof createEventSearch>

const PAGE_SIZE = 50
const MAX_ROWS_SCANNED = 1_000
const MAX_COUNTED = 1_000
const MARKED = ['failed', 'conflicting', 'clockIsOff'] as const

/** Finds events by time of receipt, using an index and never reading the whole log. */
export function createEventSearch({ db, eventLog, transactions, signedRecords }: EventSearchDeps) {
  const { billingEvents, billingAliases, subscriptions } = db.tables
  const columns = selectColumns(billingEvents)
  return {
    find,
    show,
    withDetails,
    countStored,
    countFailed,
    countMarked,
    latest,
    exists,
    findPurchases,
  }

  /**
   * Newest or oldest first. Without an index, scans at most `maxScanned` events (default: 1,000), back to
   * `scannedBackTo`.
   */
  async function find(filter: EventFilter) {
    const { after, limit = PAGE_SIZE, sort, maxScanned = MAX_ROWS_SCANNED, ...criteria } = filter
    const sources = createSources(
      {
        read: db.read,
        table: billingEvents,
        key: billingEvents.id,
        columns,
        isDescending: sort !== 'received',
      },
      toConditions(billingEvents, criteria),
    )
    const query = { sources, after, limit, maxScanned, count: 'index' } as const
    const { rows, scannedTo, ...page } = await findPage(query)
    return { ...page, events: rows, scannedBackTo: scannedTo?.receivedAt ?? null }
  }

  /** An event with its body as text. Throws 404 if it is unknown. */
  async function show(eventId: string) {
    const isEvent = hasEventId(billingEvents, eventId)
    const [row] = await db.read.select().from(billingEvents).where(isEvent)
    if (!row) throw new AppError('not_found', `There is no event ${eventId}.`)
    // Operators' scripts read `lineKey`.
    const { purchaseKey: lineKey, body, ...event } = row
    const signed = await signedRecords.read(event.id)
    const { productId, isRefund } = readDetails(row.provider, body)
    const found = { ...event, lineKey, productId, isRefund, body: utf8(body) }
    return { ...found, ...(signed === null ? {} : { signed }) }
  }

  async function withDetails(events: EventRow[]): Promise<(EventRow & EventDetails)[]> {
    const ids = events.map(({ id }) => id)
    const rows = await db.read
      .select({ id: billingEvents.id, provider: billingEvents.provider, body: billingEvents.body })
      .from(billingEvents)
      .where(inArray(billingEvents.id, ids))
    const bodies = new Map(rows.map((row) => [row.id, row]))
    return events.map((event) => {
      const { provider, body } = bodies.get(event.id) ?? { provider: '', body: new Uint8Array() }
      return { ...event, ...readDetails(provider, body) }
    })
  }

  /** All details are unknown if the body is erased or unreadable. */
  function readDetails(provider: string, body: Uint8Array): EventDetails {
    return tryTo(() => toEventDetails(eventLog.readEvent(provider, body))) ?? toEventDetails(null)
  }

  async function countStored() {
    return { events: await db.countAppended(billingEvents), failed: await countFailed() }
  }

  async function countFailed(): Promise<number> {
    return await db.read.$count(billingEvents, INDEX_CONDITIONS.failed(billingEvents))
  }

  /** How many events need attention, counting up to 1,000 of each kind. */
  async function countMarked() {
    const counts = MARKED.map(async (mark) => {
      const isMarked = INDEX_CONDITIONS[mark](billingEvents)
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

  /**
   * Purchases with a transaction id that begins with `text`, and all ids of their customers and of the customer with
   * the app user id `text`.
   */
  async function findPurchases(text: string) {
    const aliases = await db.read
      .select({ customerId: billingAliases.customerId })
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, text))
    const original = parseOriginalId(text)
    const { purchaseKey, customerId } = subscriptions
    const keyColumns = { purchaseKey, customerId }
    const purchases = await db.read
      .select(keyColumns)
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
      .select(keyColumns)
      .from(subscriptions)
      .where(inArray(purchaseKey, keys))
    const customers = new Set(
      [...aliases, ...purchases, ...renewed].map(({ customerId }) => customerId),
    )
    const found = [...purchases, ...renewed].map((row) => parsePurchaseKey(row.purchaseKey))
    const purchaseIds = [...new Set(found.map(({ transactionId }) => transactionId))]
    if (customers.size === 0) return { customerIds: [], purchaseIds }
    const ids = await db.read
      .select({ id: billingAliases.appUserId })
      .from(billingAliases)
      .where(inArray(billingAliases.customerId, [...customers]))
      .orderBy(asc(billingAliases.appUserId))
      .limit(PAGE_SIZE)
    return { customerIds: ids.map(({ id }) => id), purchaseIds }
  }
}

export function hasEventId(events: Events, eventId: string) {
  return and(inArray(events.provider, PROVIDERS), eq(events.eventId, eventId))
}

/** Only rare values have an index: frequent ones are soon found by scanning from the newest event. */
function toConditions(events: Events, filter: EventFilter): Condition[] {
  const { type, outcome, environment, user } = filter
  const { failed, conflicting, clockIsOff, sandbox, rare } = INDEX_CONDITIONS
  const isRare = type !== undefined && !FREQUENT_TYPES.includes(type)
  const isType = equals(events.type, type)
  const hasFailed = outcome === 'failed'
  const hasOutcome = equals(events.outcome, outcome)
  const isSandbox = environment === 'sandbox'
  const isProduction = equals(events.environment, environment && storedEnvironment(environment))
  return [
    { where: equals(events.appUserId, user), isIndexed: true },
    { where: hasFailed ? failed(events) : hasOutcome, isIndexed: hasFailed },
    { where: filter.conflicting ? conflicting(events) : undefined, isIndexed: true },
    { where: filter.clockIsOff ? clockIsOff(events) : undefined, isIndexed: true },
    { where: isRare ? and(isType, rare(events)) : isType, isIndexed: isRare },
    { where: isSandbox ? sandbox(events) : isProduction, isIndexed: isSandbox },
  ]
}

/** Without the body, which may be large. */
function selectColumns(events: Events) {
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
