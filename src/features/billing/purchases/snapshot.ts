import type { OrderedEvent } from './event-order.ts'
import { isDistinctEarlierPeriod, isOfSamePeriod, PERIOD_TOLERANCE_MS } from './periods.ts'
import { type Purchase, purchaseFromFirstEvent } from './purchase.ts'
import { applyRefund, isCurrentState, isRefund, reverseRefund, withoutRefund } from './refunds.ts'

/** A store's event describes the purchase or its period, so it replaces what other events said about that period. */
export function applySnapshot(purchase: Purchase, event: OrderedEvent): Purchase {
  const startedAt = Math.min(
    purchase.startedAt,
    event.startedAt ?? event.purchasedAt ?? event.orderedAt,
  )
  const isPresent = isCurrentState(event)
  if (!isPresent && isDistinctEarlierPeriod(purchase, event)) return { ...purchase, startedAt }
  const { price, entitlementIds, billingIssueAt, unsubscribedAt } = event
  const isSamePeriod = isOfSamePeriod(purchase, event)
  // Within the same period, fields that a partial snapshot omits keep their values.
  const last = event.stated === 'partial' && isSamePeriod ? purchase : null
  const known = last && isReversed(last, event) ? withoutRefund(last) : last
  const sameProduct = event.productId === purchase.productId ? purchase : null
  const orderRefundedAt = purchase.refundedOrders?.[event.transactionId ?? ''] ?? null
  const refundReason = purchase.refundedAt === null ? null : purchase.cancelReason
  const isPaused = event.expirationReason === 'SUBSCRIPTION_PAUSED'
  // Once a period is over, stores no longer mention its grace period. At Google, the reason shows an account hold.
  const isOver = isPresent
    ? event.expirationReason === 'BILLING_ERROR'
    : event.expirationReason !== null && event.refundedAt === null
  const pastGrace = isOver && isSamePeriod ? purchase.graceExpiresAt : null
  const endedAt = findEnd(event, pastGrace)
  return {
    ...purchaseFromFirstEvent(event),
    // Google does not state the start of a period that it was not queried about before; the provider may have.
    purchasedAt: event.purchasedAt ?? (endsAlike(purchase, event) ? purchase.purchasedAt : null),
    periodType: event.periodType ?? (isSamePeriod ? purchase.periodType : null),
    price: price ?? sameProduct?.price ?? null,
    priceId: event.priceId ?? sameProduct?.priceId ?? null,
    entitlementIds:
      entitlementIds.length > 0 ? entitlementIds : (sameProduct?.entitlementIds ?? []),
    startedAt,
    graceExpiresAt: event.graceExpiresAt ?? known?.graceExpiresAt ?? pastGrace,
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
    endedAt: chooseEarlier(endedAt ?? known?.endedAt ?? null, orderRefundedAt),
    pausedAt: isPaused ? (purchase.pausedAt ?? event.orderedAt) : null,
    autoResumeAt: event.autoResumeAt,
    pendingProductId: event.newProductId ?? known?.pendingProductId ?? null,
    refundedOrders: purchase.refundedOrders,
    provided: isSamePeriod ? keepProvided(purchase) : null,
  }
}

function endsAlike({ expiresAt }: Purchase, event: OrderedEvent): boolean {
  if (expiresAt === null || event.expiresAt === null) return false
  return Math.abs(event.expiresAt - expiresAt) <= PERIOD_TOLERANCE_MS
}

/** Whether the transaction of a refunded purchase no longer shows the refund. */
function isReversed({ stated, refundedAt }: Purchase, event: OrderedEvent): boolean {
  const isSame = event.transactionId !== null && stated?.transactionId === event.transactionId
  return isSame && refundedAt !== null && event.refundedAt === null
}

/** When a purchase ended. The end of a period includes its grace period, if there was one. */
function findEnd({ endedAt, expiresAt, orderedAt }: OrderedEvent, graceExpiresAt: number | null) {
  if (endedAt === null || endedAt !== expiresAt || graceExpiresAt === null) return endedAt
  return Math.max(endedAt, Math.min(graceExpiresAt, orderedAt))
}

/** What the billing provider has said about the current period; null if only the store has described it. */
function keepProvided({ stated, provided, productId, expiresAt }: Purchase) {
  if (stated !== null) return provided
  // Google's refund may come first, and names no product.
  return productId === null ? null : { productId, expiresAt }
}

/** Fills in what only the billing provider sends, in a period that the store has described. */
export function applyToSnapshotPeriod(purchase: Purchase, event: OrderedEvent): Purchase {
  const { type, productId, expiresAt } = event
  const isCompared = event.purchasedAt !== null && isOfSamePeriod(purchase, event)
  const compared = isCompared ? { ...purchase, provided: { productId, expiresAt } } : purchase
  const filled = productId === purchase.productId ? fillMissing(compared, event) : compared
  if (isRefund(event)) return applyRefund(filled, event)
  const isReversal = type === 'REFUND_REVERSED' && !isDistinctEarlierPeriod(purchase, event)
  return isReversal ? reverseRefund(filled, event) : filled
}

function fillMissing(
  purchase: Purchase,
  { entitlementIds, priceId, price }: OrderedEvent,
): Purchase {
  return {
    ...purchase,
    entitlementIds: purchase.entitlementIds.length > 0 ? purchase.entitlementIds : entitlementIds,
    priceId: purchase.priceId ?? priceId,
    price: purchase.price ?? price,
  }
}

function chooseEarlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}
