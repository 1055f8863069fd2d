import type { Clock } from '../app.ts'
import {
  type DeveloperNotification,
  PACKAGE_NAME,
  type PreviousPurchase,
  type VoidedEntry,
} from './formats.ts'
import { createNotices } from './notices.ts'
import { type FakeSubscription, withPlanChanges } from './plan-changes.ts'
import { createProduct, type FakeProduct, type ProductOptions } from './product.ts'
import { createSubscription } from './subscription.ts'
import type { SubscriptionOptions } from './subscription-record.ts'

export type PlayStore = ReturnType<typeof createPlayStore>
export type FakePurchase = FakeSubscription | FakeProduct

/** A fake Play Store whose purchases use the test's clock. Each change to a purchase returns its notification. */
export function createPlayStore(clock: Clock) {
  const purchases: FakePurchase[] = []
  /** Refunded orders, oldest first, as `voidedpurchases` lists them. */
  const voided: VoidedEntry[] = []
  const notices = createNotices(voided)
  /** Notifications about refunds for missed deadlines that `applyDeadlines` has not returned yet. */
  const unreported: DeveloperNotification[] = []
  const now = () => clock.now.getTime()
  return {
    packageName: PACKAGE_NAME,
    purchases,
    voided,
    buy,
    buyOnce,
    applyDeadlines,
    refundUnacknowledged,
  }

  /** Buys a subscription now; `notification` reports the purchase. */
  function buy(
    options: SubscriptionOptions = {},
    previous: PreviousPurchase = {},
    replacedNotification: DeveloperNotification | null = null,
  ): FakeSubscription {
    const subscription = createSubscription(newPurchase(), options, previous)
    const bought = withPlanChanges(subscription, buy, replacedNotification)
    purchases.push(bought)
    return bought
  }

  /** Buys a one-time product; `notification` reports the purchase. */
  function buyOnce(options: ProductOptions = {}): FakeProduct {
    const bought = createProduct(newPurchase(), options)
    purchases.push(bought)
    return bought
  }

  /** Refunds what was not acknowledged in time. Returns the notifications about the refunds since the last call. */
  function applyDeadlines(): DeveloperNotification[] {
    refundUnacknowledged()
    return unreported.splice(0)
  }

  /** Refunds and revokes purchases that were not acknowledged by their deadlines. */
  function refundUnacknowledged() {
    unreported.push(...purchases.flatMap((purchase) => purchase.refundIfUnacknowledged()))
  }

  function newPurchase() {
    const number = String(purchases.length + 1).padStart(5, '0')
    const token = `token${number}.AO-J1O${crypto.randomUUID().replaceAll('-', '')}`
    return { token, orderId: `GPA.3300-1111-2222-${number}`, now, notices }
  }
}
