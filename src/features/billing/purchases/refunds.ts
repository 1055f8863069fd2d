import type { OrderedEvent } from './event-order.ts'
import { isForEarlierPeriod } from './periods.ts'
import type { Purchase } from './purchase.ts'

/** Providers report most refunds as cancellations. */
export function isRefund({ type, cancelReason, price }: OrderedEvent): boolean {
  if (type !== 'CANCELLATION') return type === 'REFUND'
  return (
    cancelReason === 'CUSTOMER_SUPPORT' ||
    (cancelReason === 'DEVELOPER_INITIATED' && price !== null && price < 0)
  )
}

/** Ends the access of a refunded period. A refund of an earlier period ends nothing. */
export function applyRefund(before: Purchase, event: OrderedEvent): Purchase {
  const purchase = noteRefund(before, event)
  if (isForEarlierPeriod(purchase, event) || isOfOtherOrder(purchase, event)) return purchase
  return {
    ...purchase,
    cancelReason: event.cancelReason ?? 'CUSTOMER_SUPPORT',
    refundedAt: event.orderedAt,
    endedAt: Math.min(event.expiresAt ?? event.orderedAt, event.orderedAt),
  }
}

/** Whether a refund without a period is of another order than the current one. */
function isOfOtherOrder({ stated }: Purchase, event: OrderedEvent): boolean {
  if (event.purchasedAt !== null || event.transactionId === null) return false
  return stated !== null && stated.transactionId !== event.transactionId
}

/** Google's statements never mention refunds, so the refund of an order is remembered. */
function noteRefund(purchase: Purchase, { store, transactionId, orderedAt }: OrderedEvent) {
  if (store !== 'PLAY_STORE' || transactionId === null) return purchase
  const refundedOrders = { ...purchase.refundedOrders, [transactionId]: orderedAt }
  return { ...purchase, refundedOrders }
}
