import type { OrderedEvent } from './event-order.ts'
import { isForEarlierPeriod } from './periods.ts'
import type { Purchase } from './purchase.ts'

type RefundSign = Pick<OrderedEvent, 'type' | 'cancelReason' | 'isPaidBack'>

/** Providers report most refunds as cancellations. */
export function isRefund({ type, cancelReason, isPaidBack }: RefundSign): boolean {
  if (type !== 'CANCELLATION') return type === 'REFUND'
  return cancelReason === 'CUSTOMER_SUPPORT' || isPaidBack
}

/** A partial refund at Stripe keeps access, unless the provider ends it: the event's end is then in the past. */
function isPartial(purchase: Purchase, { store, price, expiresAt, orderedAt }: OrderedEvent) {
  if (store !== 'STRIPE' || price === null || purchase.price === null) return false
  return Math.abs(price) < purchase.price && expiresAt !== null && expiresAt > orderedAt
}

/** Ends the access of a refunded period. A refund of an earlier period ends nothing. */
export function applyRefund(before: Purchase, event: OrderedEvent): Purchase {
  if (isPartial(before, event)) return before
  const purchase = rememberRefund(before, event)
  if (isForEarlierPeriod(purchase, event) || isOfOtherOrder(purchase, event)) return purchase
  return {
    ...purchase,
    cancelReason: event.cancelReason ?? 'CUSTOMER_SUPPORT',
    refundedAt: event.orderedAt,
    endedAt: Math.min(event.expiresAt ?? event.orderedAt, event.orderedAt),
  }
}

/** Reverses a refund. The refund of another order than the current one is only forgotten. */
export function reverseRefund(before: Purchase, event: OrderedEvent): Purchase {
  const purchase = forgetRefund(before, event)
  const isCurrent = purchase.refundedAt !== null && !isOfOtherOrder(purchase, event)
  return isCurrent ? withoutRefund(purchase) : purchase
}

export function withoutRefund(purchase: Purchase): Purchase {
  return { ...purchase, refundedAt: null, endedAt: null, cancelReason: null }
}

/** Whether a refund without a period belongs to another order than the current one. */
function isOfOtherOrder({ stated }: Purchase, event: OrderedEvent): boolean {
  if (event.purchasedAt !== null || event.transactionId === null) return false
  return stated !== null && stated.transactionId !== event.transactionId
}

/** Refunds to remember: Google's and Stripe's responses about a subscription never mention them. */
export function isRefundByOrder(event: OrderedEvent): boolean {
  return isRefund(event) && isCurrentState(event) && event.transactionId !== null
}

/** Whether the store's responses describe only the current state, not earlier periods. */
export function isCurrentState({ store }: Pick<OrderedEvent, 'store'>): boolean {
  return store === 'PLAY_STORE' || store === 'STRIPE'
}

function rememberRefund(purchase: Purchase, event: OrderedEvent): Purchase {
  const { transactionId, orderedAt } = event
  if (!isRefundByOrder(event) || transactionId === null) return purchase
  const refundedOrders = { ...purchase.refundedOrders, [transactionId]: orderedAt }
  return { ...purchase, refundedOrders }
}

export function forgetRefund(purchase: Purchase, { transactionId }: OrderedEvent): Purchase {
  if (purchase.refundedOrders === null || transactionId === null) return purchase
  const { [transactionId]: _reversed, ...refundedOrders } = purchase.refundedOrders
  return { ...purchase, refundedOrders }
}
