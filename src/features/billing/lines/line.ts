/** What is known of one line after its events. Times in ms; derived from events alone, never from the clock. */
export type Line = {
  environment: 'PRODUCTION' | 'SANDBOX'
  store: string | null
  productId: string | null
  priceId: string | null
  entitlementIds: string[]
  periodType: string | null
  /** The price of the current period in US dollars, to tell dear from cheap. */
  price: number | null
  /** When the line began, and when its current period did. */
  startedAt: number
  purchasedAt: number | null
  /** Null: never. */
  expiresAt: number | null
  graceExpiresAt: number | null
  willRenew: boolean
  cancelReason: string | null
  unsubscribeDetectedAt: number | null
  billingIssueDetectedAt: number | null
  refundedAt: number | null
  /** When it was ended before or at its time, by an expiration or a refund. */
  endedAt: number | null
  pausedAt: number | null
  autoResumeAt: number | null
  pendingProductId: string | null
  /** The latest PRODUCT_CHANGE: when, and to what if it was said. */
  changedAt: number | null
  changedTo: string | null
  /** A grant during an outage of the store, which a purchase replaces. */
  isTemporary: boolean
}

/** A line of which nothing is known. */
export const EMPTY_LINE: Line = {
  environment: 'PRODUCTION',
  store: null,
  productId: null,
  priceId: null,
  entitlementIds: [],
  periodType: null,
  price: null,
  startedAt: 0,
  purchasedAt: null,
  expiresAt: null,
  graceExpiresAt: null,
  willRenew: true,
  cancelReason: null,
  unsubscribeDetectedAt: null,
  billingIssueDetectedAt: null,
  refundedAt: null,
  endedAt: null,
  pausedAt: null,
  autoResumeAt: null,
  pendingProductId: null,
  changedAt: null,
  changedTo: null,
  isTemporary: false,
}
