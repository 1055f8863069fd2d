import { type Column, type SQL, sql } from 'drizzle-orm'
import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type BillingDb = Db<ReturnType<typeof billingTables>>

type EventColumns = Record<
  'outcome' | 'conflicting' | 'clockIsOff' | 'environment' | 'type',
  Column
>

/** Whose events there are. */
export const PROVIDER = 'revenuecat'

/** What types most events have. */
export const FREQUENT_TYPES = ['INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION', 'EXPIRATION']

/** Conditions that some events meet and indexes are kept for: a query must say them in these words. */
export const MARKS = {
  failed: (t) => sql`${t.outcome} = 'failed'`,
  conflicting: (t) => sql`${t.conflicting}`,
  clockIsOff: (t) => sql`${t.clockIsOff}`,
  sandbox: (t) => sql`${t.environment} = 'SANDBOX'`,
  rare: (t) =>
    sql`${t.type} NOT IN (${sql.raw(FREQUENT_TYPES.map((type) => `'${type}'`).join(', '))})`,
} satisfies Record<string, (t: EventColumns) => SQL>

/** The billing provider's log, and the subscription state that is folded from it. */
export function billingTables(columns: Columns) {
  const { table, text, int, bool, ms, json, blob, index, uniqueIndex, primaryKey } = columns

  const billingEvents = table(
    'billing_events',
    {
      id: text().primaryKey(),
      provider: text().notNull(),
      eventId: text().notNull(),
      type: text().notNull(),
      /** The provider's `event_timestamp_ms`; null when it is missing or no time at all. */
      eventAt: ms(),
      receivedAt: ms().notNull(),
      /** Its place in time, fixed at the first receipt, in ms. */
      orderedAt: int().notNull().default(0),
      /** The subscription line that it speaks of; null for none. */
      lineKey: text(),
      /** The body as received; rewritten on erasure, emptied for old telemetry. */
      body: blob().notNull(),
      /** SHA-256 of the body as it came, hex. */
      bodyHash: text().notNull(),
      environment: text(),
      appUserId: text(),
      outcome: text().notNull(),
      error: text(),
      /** How often the same event came again. */
      duplicates: int().notNull(),
      /** A later delivery had this id but another body. The first one stays. */
      conflicting: bool().notNull(),
      /** Its own time was missing or a day ahead, or some time in it was implausible. */
      clockIsOff: bool().notNull().default(false),
    },
    (t) => [
      uniqueIndex('billing_events_event').on(t.provider, t.eventId),
      index('billing_events_user').on(t.appUserId, t.orderedAt),
      index('billing_events_line').on(t.lineKey, t.orderedAt),
      index('billing_events_failed').on(t.outcome).where(MARKS.failed(t)),
      // What operators filter by and is rare: what is frequent is found soon from the newest on.
      index('billing_events_conflicting').on(t.id).where(MARKS.conflicting(t)),
      index('billing_events_clock').on(t.id).where(MARKS.clockIsOff(t)),
      index('billing_events_sandbox').on(t.id).where(MARKS.sandbox(t)),
      index('billing_events_rare').on(t.type, t.id).where(MARKS.rare(t)),
    ],
  )

  /** Every app user id ever seen, and the customer that it belongs to: one of the customer's ids. */
  const billingAliases = table(
    'billing_aliases',
    {
      appUserId: text().primaryKey(),
      customerId: text().notNull(),
    },
    (t) => [index('billing_aliases_customer').on(t.customerId)],
  )

  /** One row a line, folded from its events. */
  const subscriptions = table(
    'subscriptions',
    {
      lineKey: text().primaryKey(),
      customerId: text().notNull(),
      environment: text().notNull(),
      state: json<unknown>().notNull(),
    },
    (t) => [index('subscriptions_customer').on(t.customerId)],
  )

  /** What a line was after all of its events up to an instant: a late event folds it from there. */
  const lineCheckpoints = table(
    'line_checkpoints',
    {
      lineKey: text().notNull(),
      /** The place in time, in ms, of the last event that is in the state. */
      upTo: int().notNull(),
      state: json<unknown>().notNull(),
    },
    (t) => [primaryKey({ columns: [t.lineKey, t.upTo] })],
  )

  /** Lines whose state lacks events with places in time from `since` to `until`, in ms: work for slices. */
  const staleLines = table('stale_lines', {
    lineKey: text().primaryKey(),
    since: int().notNull(),
    until: int().notNull(),
  })

  /** Customers whose lines may have other owners by now; those up to `afterLine` were looked at. */
  const staleCustomers = table('stale_customers', {
    customerId: text().primaryKey(),
    afterLine: text().notNull(),
  })

  /** The customers that a line has ever been with, in order to find it when one of them changes. */
  const lineHolders = table(
    'line_holders',
    { lineKey: text().notNull(), customerId: text().notNull() },
    (t) => [
      primaryKey({ columns: [t.lineKey, t.customerId] }),
      index('line_holders_customer').on(t.customerId),
    ],
  )

  /** The ids that TRANSFER events name: those that lines are taken from, and those that get them. */
  const transferIds = table(
    'transfer_ids',
    {
      appUserId: text().notNull(),
      eventRow: text().notNull(),
      isSource: bool().notNull(),
      /** That of the id: a customer may have far more ids than transfers. */
      customerId: text().notNull().default(''),
    },
    (t) => [
      primaryKey({ columns: [t.appUserId, t.eventRow, t.isSource] }),
      index('transfer_ids_customer').on(t.customerId),
    ],
  )

  /** Pseudonyms of ids whose person is gone: later events of theirs are scrubbed as they come. */
  const billingTombstones = table('billing_tombstones', { pseudonym: text().primaryKey() })

  return {
    billingEvents,
    billingAliases,
    subscriptions,
    lineCheckpoints,
    staleLines,
    staleCustomers,
    lineHolders,
    transferIds,
    billingTombstones,
  }
}
