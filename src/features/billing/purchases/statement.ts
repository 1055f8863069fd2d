import type { OrderedEvent } from './event-order.ts'
import { isDistinctEarlierPeriod, isOfSamePeriod } from './periods.ts'
import { type Purchase, purchaseFromFirstEvent } from './purchase.ts'
import { applyRefund, isRefund } from './refunds.ts'

/** A store's event describes the purchase or its period, so it replaces what other events said about that period. */
export function applyStatement(purchase: Purchase, event: OrderedEvent): Purchase {
  const startedAt = Math.min(
    purchase.startedAt,
    event.startedAt ?? event.purchasedAt ?? event.orderedAt,
  )
  // Google's reply describes the present, and does not say when the period began.
  const isCurrentState = event.store === 'PLAY_STORE'
  if (!isCurrentState && isDistinctEarlierPeriod(purchase, event)) return { ...purchase, startedAt }
  const { price, entitlementIds, billingIssueAt, unsubscribedAt } = event
  const isSamePeriod = isOfSamePeriod(purchase, event)
  // Within the same period, fields that a partial statement omits keep their values.
  const known = event.stated === 'partial' && isSamePeriod ? purchase : null
  const sameProduct = event.productId === purchase.productId ? purchase : null
  const orderRefundedAt = purchase.refundedOrders?.[event.transactionId ?? ''] ?? null
  const refundReason = purchase.refundedAt === null ? null : purchase.cancelReason
  const isPaused = event.expirationReason === 'SUBSCRIPTION_PAUSED'
  return {
    ...purchaseFromFirstEvent(event),
    price: price ?? sameProduct?.price ?? null,
    priceId: sameProduct?.priceId ?? null,
    entitlementIds:
      entitlementIds.length > 0 ? entitlementIds : (sameProduct?.entitlementIds ?? []),
    startedAt,
    graceExpiresAt: event.graceExpiresAt ?? known?.graceExpiresAt ?? null,
    willRenew: event.willRenew ?? known?.willRenew ?? true,
    cancelReason:
      orderRefundedAt === null
        ? (event.cancelReason ?? known?.cancelReason ?? null)
        : (refundReason ?? 'CUSTOMER_SUPPORT'),
    unsubscribeDetectedAt:
      unsubscribedAt === null
        ? (known?.unsubscribeDetectedAt ?? null)
        : (purchase.unsubscribeDetectedAt ?? unsubscribedAt),
    billingIssueDetectedAt:
      billingIssueAt === null
        ? (known?.billingIssueDetectedAt ?? null)
        : (purchase.billingIssueDetectedAt ?? billingIssueAt),
    refundedAt: event.refundedAt ?? known?.refundedAt ?? orderRefundedAt,
    endedAt: earlierOf(event.endedAt ?? known?.endedAt ?? null, orderRefundedAt),
    pausedAt: isPaused ? (purchase.pausedAt ?? event.orderedAt) : null,
    autoResumeAt: event.autoResumeAt,
    pendingProductId: event.newProductId ?? known?.pendingProductId ?? null,
    refundedOrders: purchase.refundedOrders,
    provided: isSamePeriod ? providedIn(purchase) : null,
  }
}

/** What the billing provider has said about the current period; null if only the store has described it. */
function providedIn({ stated, provided, productId, expiresAt }: Purchase) {
  if (stated !== null) return provided
  // Google's refund may come first, and names no product.
  return productId === null ? null : { productId, expiresAt }
}

/** Fills in what only the billing provider sends, in a period that the store has described. */
export function applyToStatedPeriod(purchase: Purchase, event: OrderedEvent): Purchase {
  const { type, productId, expiresAt } = event
  const isCompared = event.purchasedAt !== null && isOfSamePeriod(purchase, event)
  const compared = isCompared ? { ...purchase, provided: { productId, expiresAt } } : purchase
  const filled = productId === purchase.productId ? fillIn(compared, event) : compared
  if (isRefund(event)) return applyRefund(filled, event)
  const isReversed =
    type === 'REFUND_REVERSED' &&
    purchase.refundedAt !== null &&
    !isDistinctEarlierPeriod(purchase, event)
  return isReversed ? { ...filled, refundedAt: null, endedAt: null, cancelReason: null } : filled
}

function fillIn(purchase: Purchase, { entitlementIds, priceId, price }: OrderedEvent): Purchase {
  return {
    ...purchase,
    entitlementIds: purchase.entitlementIds.length > 0 ? purchase.entitlementIds : entitlementIds,
    priceId: purchase.priceId ?? priceId,
    price: purchase.price ?? price,
  }
}

function earlierOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}
