import { and, asc, count, eq, gt, sql } from 'drizzle-orm'
import { prepareFind } from '../../../platform/db/prepared.ts'
import type { BillingDb } from '../schema.ts'

export type ProjectionQueries = ReturnType<typeof prepareQueries>

export const PURCHASES_PER_PAGE = 500

export function prepareQueries(db: BillingDb) {
  const { billingAliases, subscriptions, purchaseOwners, transferIds } = db.tables
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
  /** Returns no row if the id is known. */
  const storeNewAlias = db.prepareWrite((tx) =>
    tx
      .insert(billingAliases)
      .values({ appUserId: sql.placeholder('id'), customerId: sql.placeholder('id') })
      .onConflictDoNothing()
      .returning({ id: billingAliases.appUserId }),
  )
  const storeOwner = db.prepareWrite((tx) =>
    tx.insert(purchaseOwners).values({
      purchaseKey: sql.placeholder('purchaseKey'),
      customerId: sql.placeholder('customerId'),
    }),
  )
  const findPurchase = prepareFind(db, subscriptions)
  /** Returns no row if the purchase already exists. */
  const insertPurchase = db.prepareWrite((tx) =>
    tx
      .insert(subscriptions)
      .values({
        purchaseKey: sql.placeholder('purchaseKey'),
        customerId: sql.placeholder('customerId'),
        environment: sql.placeholder('environment'),
        state: sql.placeholder('state'),
        latestAt: sql.placeholder('latestAt'),
      })
      .onConflictDoNothing()
      .returning({ purchaseKey: subscriptions.purchaseKey }),
  )
  /** The customer, whether a transfer ever moved a purchase from it, and the purchase and its owner if it exists. */
  const findTarget = db.prepareWrite((tx) =>
    tx
      .select({
        customerId: billingAliases.customerId,
        hasTransfers: sql`exists(select 1 from ${transferIds} where ${transferIds.customerId} = ${billingAliases.customerId} and ${transferIds.isSource})`,
        ownerId: subscriptions.customerId,
        state: subscriptions.state,
      })
      .from(billingAliases)
      .leftJoin(subscriptions, eq(subscriptions.purchaseKey, sql.placeholder('purchaseKey')))
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
      .set({
        state: sql.placeholder('state') as never,
        latestAt: sql.placeholder('latestAt') as never,
      })
      .where(eq(subscriptions.purchaseKey, sql.placeholder('purchaseKey'))),
  )
  const readPurchases = db.read
    .select({ purchaseKey: subscriptions.purchaseKey, state: subscriptions.state })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.customerId, sql.placeholder('customerId')),
        eq(subscriptions.environment, sql.placeholder('environment')),
        gt(subscriptions.purchaseKey, sql.placeholder('after')),
      ),
    )
    .orderBy(asc(subscriptions.purchaseKey))
    .limit(PURCHASES_PER_PAGE)
    .prepare()
  return {
    findAlias,
    storeAlias,
    storeNewAlias,
    storeOwner,
    findPurchase,
    insertPurchase,
    findTarget,
    countIds,
    findTransfersFrom,
    updateState,
    readPurchases,
  }
}
