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
  const { store, productId, priceId, entitlementIds, support: grant } = event
  const details = { store, productId, priceId, entitlementIds, grant }
  return { ...details, price: moneyMoved(event), isRefund: isRefund(event) }
}

/** The amount paid, or a negative amount if refunded; null if no money has moved. */
export function moneyMoved(event: BillingEvent): DisplayPrice | null {
  const { type, price } = event
  const isPaidBack = isRefund(event)
  const paid = isPaidBack ? (event.paidBack ?? event.paid) : event.paid
  if (!isPaidBack && !PAYMENTS.has(type)) return null
  const inDollars = price === null ? null : { amount: price, currency: 'USD' }
  const money = paid === null ? inDollars : { amount: paid.amount / 1000, currency: paid.currency }
  if (money === null || money.amount === 0) return null
  return isPaidBack ? { ...money, amount: -Math.abs(money.amount) } : money
}
