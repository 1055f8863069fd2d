import type { DeveloperNotification, LineItem, PreviousPurchase } from './formats.ts'
import { createLineItem, grantItem } from './line-items.ts'
import type { Subscription } from './subscription.ts'
import type { SubscriptionOptions } from './subscription-record.ts'

export type FakeSubscription = Subscription & {
  /** Reports the end of the purchase that this one replaced; null if it replaced none. */
  replacedNotification: DeveloperNotification | null
  changeProduct: ChangeProduct
  addItem: (product: string) => DeveloperNotification
  removeItem: (product: string) => DeveloperNotification
  resubscribe: (how?: { isLinked?: boolean }) => FakeSubscription
}

/** An immediate change creates a new purchase; a deferred one takes effect with the next renewal. */
type ChangeProduct = {
  (product: string, when: 'immediate'): FakeSubscription
  (product: string, when: 'deferred'): DeveloperNotification
}

type Buy = (
  options: SubscriptionOptions,
  previous: PreviousPurchase,
  replacedNotification: DeveloperNotification | null,
) => FakeSubscription

/** Adds product changes to a subscription; `buy` creates the purchases that follow it. */
export function withPlanChanges(
  subscription: Subscription,
  buy: Buy,
  replacedNotification: DeveloperNotification | null,
): FakeSubscription {
  const { purchase, record, token } = subscription
  const { expectState, end, notify, now, options } = record
  const { basePlan = 'monthly', isPrepaid = false } = options
  const plan = { basePlan, isPrepaid, isTrial: false }
  return { ...subscription, replacedNotification, changeProduct, addItem, removeItem, resubscribe }

  function changeProduct(product: string, when: 'immediate'): FakeSubscription
  function changeProduct(product: string, when: 'deferred'): DeveloperNotification
  function changeProduct(product: string, when: 'immediate' | 'deferred') {
    return when === 'immediate' ? replaceNow(product) : replaceLater(product)
  }

  function replaceNow(product: string): FakeSubscription {
    expectState('ACTIVE', 'IN_GRACE_PERIOD', 'CANCELED')
    const former = firstItem()
    end(now(), { replacementCancellation: {} })
    const next = buy(
      { ...nextOptions(), userId: accountId(), product },
      { linkedPurchaseToken: token },
      notify('EXPIRED'),
    )
    const [item] = next.purchase.lineItems
    if (item) item.itemReplacement = replacementOf(former, 'CHARGE_FULL_PRICE')
    return next
  }

  function replaceLater(product: string) {
    expectState('ACTIVE')
    const former = firstItem()
    former.deferredItemReplacement = { productId: product }
    const next = createLineItem(product, plan)
    next.itemReplacement = replacementOf(former, 'DEFERRED')
    purchase.lineItems.push(next)
    return notify('ITEMS_CHANGED')
  }

  /** An add-on belongs to the current order and ends with its period. */
  function addItem(product: string) {
    expectState('ACTIVE')
    const item = createLineItem(product, plan)
    grantItem(item, firstItem().latestSuccessfulOrderId ?? '', now(), record.periodEnd())
    purchase.lineItems.push(item)
    return notify('ITEMS_CHANGED')
  }

  function removeItem(product: string) {
    expectState('ACTIVE', 'CANCELED')
    const rest = purchase.lineItems.filter(({ productId }) => productId !== product)
    if (rest.length === purchase.lineItems.length) throw new Error(`there is no item ${product}`)
    purchase.lineItems = rest
    return notify('ITEMS_CHANGED')
  }

  /**
   * A purchase in the Play Store's subscription center after this one expired: it names no account until it is
   * acknowledged with one.
   */
  function resubscribe({ isLinked = true } = {}): FakeSubscription {
    expectState('EXPIRED')
    const { externalAccountIdentifiers } = purchase
    const outOfAppPurchaseContext = {
      expiredPurchaseToken: token,
      ...(externalAccountIdentifiers
        ? { expiredExternalAccountIdentifiers: externalAccountIdentifiers }
        : {}),
    }
    return buy(
      { ...nextOptions(), userId: null },
      { ...(isLinked ? { linkedPurchaseToken: token } : {}), outOfAppPurchaseContext },
      null,
    )
  }

  function nextOptions(): SubscriptionOptions {
    const { trialDays: _trial, isPending: _pending, ...rest } = options
    return { ...rest, product: firstItem().productId }
  }

  function accountId() {
    return purchase.externalAccountIdentifiers?.obfuscatedExternalAccountId ?? null
  }

  function firstItem(): LineItem {
    const [item] = purchase.lineItems
    if (!item) throw new Error('the subscription has no items')
    return item
  }
}

function replacementOf({ productId, offerDetails }: LineItem, replacementMode: string) {
  const basePlan = offerDetails ? { basePlanId: offerDetails.basePlanId } : {}
  return { productId, ...basePlan, replacementMode }
}
