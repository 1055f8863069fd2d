import type { DisplayPrice } from '../../../lib/money/prices.ts'
import { none } from '../none.ts'
import { isRefund } from '../purchases/refunds.ts'
import type { Attribution } from './attribution.ts'
import type { BillingEvent } from './event.ts'

/** Events that report a payment. Other events may state a price too, but no money has moved. */
const PAYMENTS = new Set([
  'INITIAL_PURCHASE',
  'RENEWAL',
  'NON_RENEWING_PURCHASE',
  'REFUND_REVERSED',
])

const UNKNOWN = {
  store: none<string>(),
  productId: none<string>(),
  priceId: none<string>(),
  entitlementIds: [] as string[],
  grant: none<Attribution>(),
  price: none<DisplayPrice>(),
  /** Providers call most refunds cancellations. */
  isRefund: false,
}

export type EventDetails = typeof UNKNOWN

/** The details of an event; all unknown if there is none. */
export function toEventDetails(event: BillingEvent | null): EventDetails {
  if (event === null) return UNKNOWN
  const { type, store, productId, priceId, entitlementIds, support: grant } = event
  const details = { store, productId, priceId, entitlementIds, grant, isRefund: isRefund(event) }
  const price = details.isRefund || PAYMENTS.has(type) ? moneyMoved(event) : null
  return { ...details, price }
}

/**
 * The amount paid, or a negative amount if refunded; null if no money has moved. Each event of a store states the
 * payment of its period, which an earlier event may lack.
 */
export function moneyMoved(event: BillingEvent): DisplayPrice | null {
  const isPaidBack = isRefund(event)
  const isStated = event.stated !== null && event.refundedAt === null
  if (!isPaidBack && !isStated && !PAYMENTS.has(event.type)) return null
  const paid = isPaidBack ? (event.paidBack ?? event.paid) : event.paid
  if (paid === null || paid.amount === 0) return null
  const amount = paid.amount / 1000
  return { amount: isPaidBack ? -Math.abs(amount) : amount, currency: paid.currency }
}
