import type { Columns } from '../../../platform/db/columns.ts'
import type { KnownItem } from './events/state.ts'

export function stripeTables(columns: Columns) {
  const { table, text, int, bool, ms, json, index, primaryKey } = columns

  /** The customers at Stripe that belong to users. */
  const stripeCustomers = table(
    'stripe_customers',
    {
      /** Such as `cus_…`. */
      id: text().primaryKey(),
      environment: text().notNull(),
      userId: text().notNull(),
      /** Whether the user's checkouts use it: one per user and environment. */
      isCurrent: bool().notNull(),
      /** SHA-256 of the e-mail address that was sent to Stripe; null for none. */
      emailHash: text(),
    },
    (t) => [index('stripe_customers_user').on(t.userId)],
  )

  /** The last checkout of each user and environment, stored before Stripe is called, so that it can be repeated. */
  const stripeCheckouts = table(
    'stripe_checkouts',
    {
      userId: text().notNull(),
      environment: text().notNull(),
      /** Identifies the attempt at Stripe, which gives a repetition the same response. */
      attempt: text().notNull(),
      /** The app's request: only the same request gets the same page again. */
      request: text().notNull(),
      /** The parameters of the request to Stripe. */
      params: json<Record<string, unknown>>().notNull(),
      createdAt: ms().notNull(),
      /** Null until Stripe has responded. */
      sessionId: text(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.environment] })],
  )

  /** What to query or do at Stripe, and when. */
  const stripeObjects = table(
    'stripe_objects',
    {
      /** Of a subscription, a charge or another object: the prefix shows which. */
      id: text().primaryKey(),
      environment: text().notNull(),
      /** `read`, or what to do with a customer or a checkout of a deleted user. */
      task: text().notNull(),
      customer: text(),
      /** The owner, if only a checkout names one. */
      userId: text(),
      /** The products of a subscription, as of the last response. */
      items: json<KnownItem[]>().notNull(),
      /** Whether a charge was paid back, as of the last response. */
      isPaidBack: bool().notNull(),
      /** When to query Stripe; null: not again. */
      dueAt: ms(),
      /** Changes with each event: an event during a request causes another request. */
      mark: text().notNull(),
      /** Until then, one instance is querying Stripe. */
      leasedUntil: ms().notNull(),
      /** Attempts that got no response, or a response without the change that was due. */
      attempts: int().notNull(),
      askedAt: ms(),
    },
    (t) => [
      index('stripe_objects_due').on(t.dueAt),
      index('stripe_objects_customer').on(t.customer),
      index('stripe_objects_user').on(t.userId),
    ],
  )

  return { stripeCustomers, stripeCheckouts, stripeObjects }
}
