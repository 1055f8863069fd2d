import { and, asc, desc, eq, gte, inArray, lt, or } from 'drizzle-orm'
import { type BillingDb, FREQUENT_TYPES, MARKS, PROVIDER } from '../schema.ts'

export type EventFilter = {
  type?: string | undefined
  outcome?: 'applied' | 'ignored' | 'failed' | undefined
  environment?: 'production' | 'sandbox' | undefined
  user?: string | undefined
  conflicting?: boolean | undefined
  clockIsOff?: boolean | undefined
  /** The page after this one. */
  after?: string | undefined
  limit?: number | undefined
}

export type EventSearch = ReturnType<typeof createEventSearch>

const PAGE_SIZE = 50
/** Rows that are read in one turn of the loop, and for one page. */
const LOOKED_AT_ONCE = 500
const MOST_LOOKED = 1_000
/** Counts go no further. */
const MOST_COUNTED = 1_000
const MARKED = ['failed', 'conflicting', 'clockIsOff'] as const

/** Finds events by what indexes know of them, the newest first: never by reading them all. */
export function createEventSearch(db: BillingDb) {
  const { billingEvents, billingAliases, subscriptions } = db.tables
  return { find, findAll, countMarked, latest, exists, customerIdsOf }

  /**
   * The newest events that match. `next` is the `after` of the following page; null on the last one. Where no index knows
   * all of the filter, no more than 1,000 events are looked at: `lookedBackTo` is the time of the last one then.
   */
  async function find({ after, limit = PAGE_SIZE, ...filter }: EventFilter) {
    const isSure = isIndexed(filter)
    const atOnce = isSure ? limit + 1 : LOOKED_AT_ONCE
    const events: EventRow[] = []
    let last: EventRow | undefined
    for (let looked = 0; looked < MOST_LOOKED; looked += atOnce) {
      const rows = await rowsAfter(last?.id ?? after, filter, atOnce)
      for (const row of rows) {
        if (!matches(row, filter)) continue
        if (events.length === limit)
          return { events, next: events.at(-1)?.id ?? null, lookedBackTo: null }
        events.push(row)
      }
      if (rows.length < atOnce) return { events, next: null, lookedBackTo: null }
      last = rows.at(-1)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { events, next: last?.id ?? null, lookedBackTo: last?.receivedAt ?? null }
  }

  /** The same however far it must be looked back. */
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
    const isOlder = after === undefined ? undefined : lt(billingEvents.id, after)
    return db.read
      .select({
        id: billingEvents.id,
        eventId: billingEvents.eventId,
        type: billingEvents.type,
        receivedAt: billingEvents.receivedAt,
        eventAt: billingEvents.eventAt,
        environment: billingEvents.environment,
        appUserId: billingEvents.appUserId,
        outcome: billingEvents.outcome,
        error: billingEvents.error,
        duplicates: billingEvents.duplicates,
        conflicting: billingEvents.conflicting,
        clockIsOff: billingEvents.clockIsOff,
      })
      .from(billingEvents)
      .where(and(indexedPart(filter), isOlder))
      .orderBy(desc(billingEvents.id))
      .limit(limit)
  }

  /** How many events need somebody to look at them, 1,000 at most each. */
  async function countMarked() {
    const counts = MARKED.map(async (mark) => {
      const rows = await db.read
        .select({ id: billingEvents.id })
        .from(billingEvents)
        .where(MARKS[mark](billingEvents))
        .limit(MOST_COUNTED)
      return [mark, rows.length] as const
    })
    return Object.fromEntries(await Promise.all(counts)) as Record<(typeof MARKED)[number], number>
  }

  /** When the newest event came; null before the first. */
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
      .where(and(eq(billingEvents.provider, PROVIDER), eq(billingEvents.eventId, eventId)))
    return rows.length > 0
  }

  /** The app user ids of the customers that an app user id, or the beginning of a transaction id, belongs to. */
  async function customerIdsOf(text: string): Promise<string[]> {
    const aliases = await db.read
      .select({ customerId: billingAliases.customerId })
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, text))
    const lines = await db.read
      .select({ customerId: subscriptions.customerId })
      .from(subscriptions)
      .where(or(...['PRODUCTION', 'SANDBOX'].map((world) => beginsWith(`${world}|${text}`))))
      .orderBy(asc(subscriptions.lineKey))
      .limit(PAGE_SIZE)
    const customers = new Set([...aliases, ...lines].map(({ customerId }) => customerId))
    if (customers.size === 0) return []
    const ids = await db.read
      .select({ id: billingAliases.appUserId })
      .from(billingAliases)
      .where(inArray(billingAliases.customerId, [...customers]))
      .orderBy(asc(billingAliases.appUserId))
      .limit(PAGE_SIZE)
    return ids.map(({ id }) => id)
  }

  function beginsWith(text: string) {
    const { lineKey } = subscriptions
    return and(gte(lineKey, text), lt(lineKey, `${text}\u{10ffff}`))
  }

  /** The one part of a filter that leaves least to look at. */
  function indexedPart({ user, outcome, conflicting, clockIsOff, type, environment }: EventFilter) {
    if (user !== undefined) return eq(billingEvents.appUserId, user)
    if (outcome === 'failed') return MARKS.failed(billingEvents)
    if (conflicting) return MARKS.conflicting(billingEvents)
    if (clockIsOff) return MARKS.clockIsOff(billingEvents)
    if (isRare(type)) return and(eq(billingEvents.type, type), MARKS.rare(billingEvents))
    return environment === 'sandbox' ? MARKS.sandbox(billingEvents) : undefined
  }
}

/** Whether `indexedPart` is the whole of a filter. */
function isIndexed(filter: EventFilter): boolean {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && value !== false)
  const [only] = given
  if (only === undefined) return true
  const [name, value] = only
  if (given.length > 1) return false
  if (name === 'outcome') return value === 'failed'
  if (name === 'environment') return value === 'sandbox'
  return name !== 'type' || isRare(filter.type)
}

function isRare(type: string | undefined): type is string {
  return type !== undefined && !FREQUENT_TYPES.includes(type)
}

type EventRow = Pick<
  BillingDb['tables']['billingEvents']['$inferSelect'],
  | 'id'
  | 'eventId'
  | 'type'
  | 'receivedAt'
  | 'eventAt'
  | 'environment'
  | 'appUserId'
  | 'outcome'
  | 'error'
  | 'duplicates'
  | 'conflicting'
  | 'clockIsOff'
>

function matches(row: EventRow, filter: EventFilter): boolean {
  const { type, outcome, environment, user, conflicting, clockIsOff } = filter
  return (
    (type === undefined || row.type === type) &&
    (outcome === undefined || row.outcome === outcome) &&
    (environment === undefined || row.environment === environment.toUpperCase()) &&
    (user === undefined || row.appUserId === user) &&
    (!conflicting || row.conflicting) &&
    (!clockIsOff || row.clockIsOff)
  )
}
