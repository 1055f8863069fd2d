import { type Column, type SQL, sql } from 'drizzle-orm'
import type { Columns, UsersTable } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'
import { businessTables } from './business/schema.ts'
import type { Environment, StoredEnvironment } from './environment.ts'
import type { StoredPurchase } from './projection/fold-state.ts'

export type BillingDb = Db<ReturnType<typeof billingTables>>

type EventColumns = Record<
  'outcome' | 'conflicting' | 'clockIsOff' | 'environment' | 'type',
  Column
>

/** The most frequent event types. */
export const FREQUENT_TYPES = ['INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION', 'EXPIRATION']

/** Conditions of partial indexes. A query must use the same expression for its index to be chosen. */
export const INDEX_CONDITIONS = {
  failed: (t) => sql`${t.outcome} = 'failed'`,
  conflicting: (t) => sql`${t.conflicting}`,
  clockIsOff: (t) => sql`${t.clockIsOff}`,
  sandbox: (t) => sql`${t.environment} = 'SANDBOX'`,
  rare: (t) =>
    sql`${t.type} NOT IN (${sql.raw(FREQUENT_TYPES.map((type) => `'${type}'`).join(', '))})`,
} satisfies Record<string, (t: EventColumns) => SQL>

/** The event log, and the purchases derived from it, called lines in the database and in stored states. */
export function billingTables(columns: Columns, users: UsersTable) {
  const { table, text, ownedBy, int, bool, ms, json, blob, index, uniqueIndex, primaryKey } =
    columns

  const billingEvents = table(
    'billing_events',
    {
      id: text().primaryKey(),
      provider: text().notNull(),
      eventId: text().notNull(),
      type: text().notNull(),
      /** Null when it is missing or not a valid time. */
      eventAt: ms(),
      receivedAt: ms().notNull(),
      /** The time, in ms, that decides the order of events. Fixed when the event is first received. */
      orderedAt: int().notNull().default(0),
      /** The purchase that the event is about; null for none. */
      purchaseKey: text('line_key'),
      /** The body as received; rewritten on erasure, cleared when a telemetry event is old. */
      body: blob().notNull(),
      /** SHA-256 of the body as received, hex. */
      bodyHash: text().notNull(),
      environment: text().$type<StoredEnvironment>(),
      appUserId: text(),
      outcome: text().notNull(),
      error: text(),
      /** How many times the same event was received again. */
      duplicates: int().notNull(),
      /** A later delivery had this id but a different body. The first body is kept. */
      conflicting: bool().notNull(),
      /** The event's own time is missing or more than a day ahead, or another time in it is implausible. */
      clockIsOff: bool().notNull().default(false),
    },
    (t) => [
      uniqueIndex('billing_events_event').on(t.provider, t.eventId),
      index('billing_events_user').on(t.appUserId, t.orderedAt),
      index('billing_events_line').on(t.purchaseKey, t.orderedAt),
      index('billing_events_failed').on(t.outcome).where(INDEX_CONDITIONS.failed(t)),
      // Only rare values have an index: frequent ones are soon found by scanning from the newest event.
      index('billing_events_conflicting').on(t.id).where(INDEX_CONDITIONS.conflicting(t)),
      index('billing_events_clock').on(t.id).where(INDEX_CONDITIONS.clockIsOff(t)),
      index('billing_events_sandbox').on(t.id).where(INDEX_CONDITIONS.sandbox(t)),
      index('billing_events_rare').on(t.type, t.id).where(INDEX_CONDITIONS.rare(t)),
    ],
  )

  /** Every app user id ever seen, and its customer. A customer is identified by one of its ids. */
  const billingAliases = table(
    'billing_aliases',
    {
      appUserId: text().primaryKey(),
      customerId: text().notNull(),
    },
    (t) => [index('billing_aliases_customer').on(t.customerId)],
  )

  const subscriptions = table(
    'subscriptions',
    {
      purchaseKey: text('line_key').primaryKey(),
      customerId: text().notNull(),
      environment: text().$type<StoredEnvironment>().notNull(),
      state: json<StoredPurchase>().notNull(),
      /** When the current period began, in ms; 0 until a row from an older version has been backfilled. */
      latestAt: int().notNull().default(0),
    },
    (t) => [
      index('subscriptions_customer').on(t.customerId),
      index('subscriptions_latest').on(t.environment, t.latestAt, t.purchaseKey),
    ],
  )

  /** Each product ever paid for, and its newest purchase. Products without a plan are looked up here. */
  const purchasedOffers = table(
    'purchased_offers',
    {
      environment: text().$type<StoredEnvironment>().notNull(),
      /** As `formatOffer` writes it. */
      offer: text().notNull(),
      purchaseKey: text('line_key').notNull(),
    },
    (t) => [primaryKey({ columns: [t.environment, t.offer] })],
  )

  /** The transactions of a purchase other than the one in its key, for the search. */
  const purchaseTransactions = table(
    'purchase_transactions',
    { transactionId: text().notNull(), purchaseKey: text('line_key').notNull() },
    (t) => [primaryKey({ columns: [t.transactionId, t.purchaseKey] })],
  )

  /** The state of a purchase after its events up to a point in time. When a late event arrives, folding resumes from there. */
  const purchaseCheckpoints = table(
    'line_checkpoints',
    {
      purchaseKey: text('line_key').notNull(),
      /** `orderedAt` of the last event in the state. */
      upTo: int().notNull(),
      state: json<StoredPurchase>().notNull(),
    },
    (t) => [primaryKey({ columns: [t.purchaseKey, t.upTo] })],
  )

  /** Purchases whose state lacks events with `orderedAt` from `since` to `until`. */
  const stalePurchases = table('stale_lines', {
    purchaseKey: text('line_key').primaryKey(),
    since: int().notNull(),
    until: int().notNull(),
  })

  /** Customers whose purchases after `afterPurchase` may have a new owner. */
  const staleCustomers = table('stale_customers', {
    customerId: text().primaryKey(),
    afterPurchase: text('after_line').notNull(),
  })

  /** Every customer that has ever owned a purchase. When one of them changes, the owner is reassigned. */
  const purchaseOwners = table(
    'line_holders',
    { purchaseKey: text('line_key').notNull(), customerId: text().notNull() },
    (t) => [
      primaryKey({ columns: [t.purchaseKey, t.customerId] }),
      index('line_holders_customer').on(t.customerId),
    ],
  )

  /** The ids that TRANSFER events name, as sources and as destinations. */
  const transferIds = table(
    'transfer_ids',
    {
      appUserId: text().notNull(),
      eventRow: text().notNull(),
      isSource: bool().notNull(),
      /** The customer of the id; stored here because a customer may have far more ids than transfers. */
      customerId: text().notNull().default(''),
    },
    (t) => [
      primaryKey({ columns: [t.appUserId, t.eventRow, t.isSource] }),
      index('transfer_ids_customer').on(t.customerId),
    ],
  )

  /** The progress of each background job; `reached` holds a key or JSON. */
  const reconciliation = table('reconciliation', {
    id: text().primaryKey(),
    reached: text('after_purchase').notNull(),
  })

  /** What each user had access to after the last change, so that the next change can be announced. */
  const accessStates = table(
    'access_states',
    {
      userId: ownedBy(() => users.id),
      environment: text().$type<Environment>().notNull(),
      state: json<unknown>().notNull(),
      /** When the state next changes without an event; null: never. */
      changesAt: ms(),
      /** One of `ACCESS_STATUSES`, for filtering the list of users; null for none and in the sandbox. */
      status: text(),
      /** The code of the plan that a purchase or a grant gives now; null for none and in the sandbox. */
      plan: text(),
    },
    (t) => [
      primaryKey({ columns: [t.userId, t.environment] }),
      index('access_states_change').on(t.changesAt),
      index('access_states_status').on(t.status, t.userId),
      index('access_states_plan').on(t.plan, t.userId),
    ],
  )

  /** The data that stores have signed, as received but compressed, by event row. */
  const signedRecords = table(
    'store_evidence',
    {
      eventRow: text().primaryKey(),
      receivedAt: ms().notNull(),
      content: blob().notNull(),
    },
    (t) => [index('store_evidence_received').on(t.receivedAt)],
  )

  /** Pseudonyms of deleted users' ids: later events with these ids are pseudonymized on receipt. */
  const billingTombstones = table('billing_tombstones', { pseudonym: text().primaryKey() })

  return {
    ...businessTables(columns),
    billingEvents,
    billingAliases,
    subscriptions,
    purchasedOffers,
    purchaseTransactions,
    purchaseCheckpoints,
    stalePurchases,
    staleCustomers,
    purchaseOwners,
    transferIds,
    reconciliation,
    signedRecords,
    billingTombstones,
    accessStates,
  }
}
