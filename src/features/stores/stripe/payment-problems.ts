import { and, count, eq, gt, inArray, isNotNull, like } from 'drizzle-orm'
import { readPurchase } from '../../billing/projection/fold-state.ts'
import type { StripeContext } from './context.ts'
import { toPurchaseKey } from './events/snapshot.ts'

/** Finds problems that only an operator can fix: users in production who pay for nothing. */
export function createPaymentProblems({ db }: Pick<StripeContext, 'db'>) {
  const { stripeObjects, stripeCustomers, subscriptions } = db.tables
  const isProduction = eq(stripeObjects.environment, 'PRODUCTION')
  return { countDoubled, countRefunded }

  /** Users who have one product in two subscriptions that continue. */
  async function countDoubled(): Promise<number> {
    const { userId } = stripeCustomers
    const ofCustomer = eq(stripeCustomers.id, stripeObjects.customer)
    // A subscription that has ended is not queried again.
    const isLive = and(
      isProduction,
      like(stripeObjects.id, 'sub_%'),
      isNotNull(stripeObjects.dueAt),
    )
    const severalOf = db.read
      .select({ userId })
      .from(stripeObjects)
      .innerJoin(stripeCustomers, ofCustomer)
      .where(isLive)
      .groupBy(userId)
      .having(gt(count(), 1))
    const rows = await db.read
      .select({ userId, items: stripeObjects.items })
      .from(stripeObjects)
      .innerJoin(stripeCustomers, ofCustomer)
      .where(and(isLive, inArray(userId, severalOf)))
    const products = rows.flatMap((row) =>
      [...new Set(row.items.map(({ productId }) => productId))].map((id) => [row.userId, id]),
    )
    const doubled = Object.values(Object.groupBy(products, (product) => product.join(' '))).filter(
      (same) => same !== undefined && same.length > 1,
    )
    return new Set(doubled.map((same) => same?.[0]?.[0])).size
  }

  /** Subscriptions whose period was refunded, but that will charge the user again. */
  async function countRefunded(): Promise<number> {
    const charges = await db.read
      .select({ items: stripeObjects.items })
      .from(stripeObjects)
      .where(and(isProduction, eq(stripeObjects.isPaidBack, true)))
    const keys = charges.flatMap(({ items }) =>
      items.map((item) => toPurchaseKey('PRODUCTION', item)),
    )
    const rows = await db.read
      .select({ state: subscriptions.state })
      .from(subscriptions)
      .where(inArray(subscriptions.purchaseKey, keys))
    const purchases = rows.map(({ state }) => readPurchase(state))
    return purchases.filter(({ refundedAt, willRenew }) => refundedAt !== null && willRenew).length
  }
}
