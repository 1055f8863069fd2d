import { and, desc, eq, gte, inArray, lt, or, sql } from 'drizzle-orm'
import { type BillingDb, FREQUENT_TYPES, MARKS } from '../schema.ts'

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
/** Counts go no further. */
const MOST_COUNTED = 1_000
const MARKED = ['failed', 'conflicting', 'clockIsOff'] as const

/** Finds events by what indexes know of them, the newest first: never by reading them all. */
export function createEventSearch(db: BillingDb) {
  const { billingEvents, billingAliases, subscriptions } = db.tables
  return { find, countMarked, latest, customerIdsOf }

  /** `next` is the `after` of the following page; null on the last one. */
  async function find({ after, limit = PAGE_SIZE, ...filter }: EventFilter) {
    const rows = await db.read
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
      .where(
        and(conditionOf(filter), after === undefined ? undefined : lt(billingEvents.id, after)),
      )
      .orderBy(desc(billingEvents.id))
      .limit(limit + 1)
    const events = rows.slice(0, limit)
    return { events, next: rows.length > limit ? (events.at(-1)?.id ?? null) : null }
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
      .limit(PAGE_SIZE)
    const customers = new Set([...aliases, ...lines].map(({ customerId }) => customerId))
    if (customers.size === 0) return []
    const ids = await db.read
      .select({ id: billingAliases.appUserId })
      .from(billingAliases)
      .where(inArray(billingAliases.customerId, [...customers]))
      .limit(PAGE_SIZE)
    return ids.map(({ id }) => id)
  }

  function beginsWith(text: string) {
    const { lineKey } = subscriptions
    return and(gte(lineKey, text), lt(lineKey, `${text}\u{10ffff}`))
  }

  function conditionOf(filter: EventFilter) {
    const { type, outcome, environment, user, conflicting, clockIsOff } = filter
    const isRare = type !== undefined && !FREQUENT_TYPES.includes(type)
    return and(
      type === undefined ? undefined : eq(billingEvents.type, type),
      isRare ? MARKS.rare(billingEvents) : undefined,
      outcome === 'failed' ? MARKS.failed(billingEvents) : undefined,
      outcome && outcome !== 'failed' ? eq(billingEvents.outcome, outcome) : undefined,
      environment === 'sandbox' ? MARKS.sandbox(billingEvents) : undefined,
      environment === 'production' ? sql`${billingEvents.environment} = 'PRODUCTION'` : undefined,
      user === undefined ? undefined : eq(billingEvents.appUserId, user),
      conflicting ? MARKS.conflicting(billingEvents) : undefined,
      clockIsOff ? MARKS.clockIsOff(billingEvents) : undefined,
    )
  }
}
