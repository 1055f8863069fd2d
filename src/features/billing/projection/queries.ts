import { and, asc, count, eq, gt, sql } from 'drizzle-orm'
import type { BillingDb } from '../schema.ts'

export type ProjectionQueries = ReturnType<typeof prepareQueries>

/** How many lines of a customer are read at once. */
const LINES_AT_ONCE = 500

/** The hot queries of the projection, prepared once. */
export function prepareQueries(db: BillingDb) {
  const { billingAliases, subscriptions, lineHolders, transferIds } = db.tables
  const findAlias = db.prepareWrite((tx) =>
    tx
      .select()
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, sql.placeholder('id'))),
  )
  const storeAlias = db.prepareWrite((tx) =>
    tx.insert(billingAliases).values({
      appUserId: sql.placeholder('id'),
      customerId: sql.placeholder('customerId'),
    }),
  )
  const storeHolder = db.prepareWrite((tx) =>
    tx.insert(lineHolders).values({
      lineKey: sql.placeholder('lineKey'),
      customerId: sql.placeholder('customerId'),
    }),
  )
  const findLine = db.prepareWrite((tx) =>
    tx
      .select()
      .from(subscriptions)
      .where(eq(subscriptions.lineKey, sql.placeholder('lineKey'))),
  )
  const insertLine = db.prepareWrite((tx) =>
    tx.insert(subscriptions).values({
      lineKey: sql.placeholder('lineKey'),
      customerId: sql.placeholder('customerId'),
      environment: sql.placeholder('environment'),
      state: sql.placeholder('state'),
    }),
  )
  /** Whose an event is that names an id, and its line as it stands. */
  const findTarget = db.prepareWrite((tx) =>
    tx
      .select({
        customerId: billingAliases.customerId,
        holderId: subscriptions.customerId,
        state: subscriptions.state,
      })
      .from(billingAliases)
      .leftJoin(subscriptions, eq(subscriptions.lineKey, sql.placeholder('lineKey')))
      .where(eq(billingAliases.appUserId, sql.placeholder('id'))),
  )
  const countIds = db.prepareWrite((tx) =>
    tx
      .select({ size: count() })
      .from(billingAliases)
      .where(eq(billingAliases.customerId, sql.placeholder('customerId'))),
  )
  const findTransfersFrom = db.prepareWrite((tx) =>
    tx
      .select({ eventRow: transferIds.eventRow })
      .from(transferIds)
      .where(
        and(
          eq(transferIds.customerId, sql.placeholder('customerId')),
          eq(transferIds.isSource, true),
        ),
      ),
  )
  const updateState = db.prepareWrite((tx) =>
    tx
      .update(subscriptions)
      .set({ state: sql.placeholder('state') as never })
      .where(eq(subscriptions.lineKey, sql.placeholder('lineKey'))),
  )
  const readLines = db.read
    .select({ lineKey: subscriptions.lineKey, state: subscriptions.state })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.customerId, sql.placeholder('customerId')),
        eq(subscriptions.environment, sql.placeholder('environment')),
        gt(subscriptions.lineKey, sql.placeholder('after')),
      ),
    )
    .orderBy(asc(subscriptions.lineKey))
    .limit(LINES_AT_ONCE)
    .prepare()
  return {
    findAlias,
    storeAlias,
    storeHolder,
    findLine,
    insertLine,
    findTarget,
    countIds,
    findTransfersFrom,
    updateState,
    readLines,
  }
}
