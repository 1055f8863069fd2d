/** Homeport's own event that names the user who has claimed a purchase. */
export const PURCHASE_CLAIMED = 'HOMEPORT_PURCHASE_CLAIMED'
/** Undoes a claim. */
export const CLAIM_WITHDRAWN = 'HOMEPORT_CLAIM_WITHDRAWN'
/** Access that an operator gives without a purchase. */
export const ACCESS_GRANTED = 'HOMEPORT_ACCESS_GRANTED'
export const ACCESS_REVOKED = 'HOMEPORT_ACCESS_REVOKED'

/** Their rank among events with the same time. */
export const RANK: ReadonlyMap<string, number> = new Map(
  Object.entries({
    INITIAL_PURCHASE: 0,
    RENEWAL: 0,
    NON_RENEWING_PURCHASE: 0,
    TEMPORARY_ENTITLEMENT_GRANT: 0,
    [ACCESS_GRANTED]: 0,
    SUBSCRIPTION_EXTENDED: 1,
    REFUND_REVERSED: 1,
    UNCANCELLATION: 1,
    PRODUCT_CHANGE: 2,
    BILLING_ISSUE: 3,
    SUBSCRIPTION_PAUSED: 4,
    CANCELLATION: 5,
    REFUND: 5,
    STRIPE_PARTIAL_REFUND: 5,
    EXPIRATION: 6,
    [ACCESS_REVOKED]: 6,
    HOMEPORT_RECONCILED: 7,
    [PURCHASE_CLAIMED]: 8,
    [CLAIM_WITHDRAWN]: 8,
  }),
)
const IDENTITY_EVENT_TYPES = new Set(['TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED'])

/** False for tests, telemetry and unknown types. */
export function isAboutAccess(type: string): boolean {
  return RANK.has(type) || IDENTITY_EVENT_TYPES.has(type)
}
