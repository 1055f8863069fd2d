import { and, asc, eq, sql } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'

/** The hot queries of the projection, prepared once. */
export function prepareQueries(db: Db) {
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
  const storeLine = db.prepareWrite((tx) =>
    tx
      .insert(subscriptions)
      .values({
        lineKey: sql.placeholder('lineKey'),
        customerId: sql.placeholder('customerId'),
        environment: sql.placeholder('environment'),
        state: sql.placeholder('state'),
      })
      .onConflictDoUpdate({
        target: subscriptions.lineKey,
        set: { customerId: sql`excluded.customer_id`, state: sql`excluded.state` },
      }),
  )
  const touchesTransfer = db.prepareWrite((tx) =>
    tx
      .select({ eventRow: transferIds.eventRow })
      .from(billingAliases)
      .innerJoin(transferIds, eq(transferIds.appUserId, billingAliases.appUserId))
      .where(
        and(
          eq(billingAliases.customerId, sql.placeholder('customerId')),
          eq(transferIds.isSource, true),
        ),
      ),
  )
  const findAnyTransfer = db.prepareWrite((tx) => tx.select().from(transferIds).limit(1))
  const updateState = db.prepareWrite((tx) =>
    tx
      .update(subscriptions)
      .set({ state: sql`${sql.placeholder('state')}` })
      .where(eq(subscriptions.lineKey, sql.placeholder('lineKey'))),
  )
  const readLines = db.read
    .select({ state: subscriptions.state })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.customerId, sql.placeholder('customerId')),
        eq(subscriptions.environment, sql.placeholder('environment')),
      ),
    )
    .orderBy(asc(subscriptions.lineKey))
    .prepare()
  return {
    findAlias,
    storeAlias,
    storeHolder,
    findLine,
    storeLine,
    touchesTransfer,
    findAnyTransfer,
    updateState,
    readLines,
  }
}
