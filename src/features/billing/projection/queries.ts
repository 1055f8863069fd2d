import { and, asc, count, eq, gt, sql } from 'drizzle-orm'
import {
  prepareFind,
  prepareInsert,
  prepareInsertNew,
  prepareUpdate,
} from '../../../platform/db/prepared.ts'
import type { BillingDb } from '../schema.ts'

export type ProjectionQueries = ReturnType<typeof prepareQueries>

export const PURCHASES_PER_PAGE = 500

export function prepareQueries(db: BillingDb) {
  const { billingAliases, subscriptions, purchaseOwners, transferIds } = db.tables
  const findAlias = prepareFind(db, billingAliases)
  const insertAlias = prepareInsert(db, billingAliases)
  const insertNewAlias = prepareInsertNew(db, billingAliases)
  const insertOwner = prepareInsert(db, purchaseOwners)
  const findPurchase = prepareFind(db, subscriptions)
  const insertPurchase = prepareInsertNew(db, subscriptions)
  const updatePurchase = prepareUpdate(db, subscriptions)
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
    insertAlias,
    insertNewAlias,
    insertOwner,
    findPurchase,
    insertPurchase,
    updatePurchase,
    findTarget,
    countIds,
    findTransfersFrom,
    readPurchases,
  }
}
