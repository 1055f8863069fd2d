/** The documented event types in words; the billing provider may send others. */
export const EVENT_TYPES: Record<string, string> = {
  INITIAL_PURCHASE: 'First purchase',
  RENEWAL: 'Renewed',
  CANCELLATION: 'Cancelled',
  UNCANCELLATION: 'Cancellation reverted',
  EXPIRATION: 'Expired',
  BILLING_ISSUE: 'Payment failed',
  PRODUCT_CHANGE: 'Product changed',
  REFUND: 'Refunded',
  REFUND_REVERSED: 'Refund reversed',
  SUBSCRIPTION_PAUSED: 'Paused',
  SUBSCRIPTION_EXTENDED: 'Extended',
  NON_RENEWING_PURCHASE: 'One-time purchase',
  TEMPORARY_ENTITLEMENT_GRANT: 'Temporary access',
  TRANSFER: 'Transferred',
  SUBSCRIBER_ALIAS: 'User ids joined',
  PURCHASE_REDEEMED: 'Redeemed',
  HOMEPORT_RECONCILED: 'Corrected from the provider',
  TEST: 'Test',
}

/** The events that Homeport records itself, which the event log does not list. */
const OWN_TYPES: Record<string, string> = {
  HOMEPORT_STATEMENT: 'Reported by the store',
  HOMEPORT_PURCHASE_CLAIMED: 'Linked to a user',
  HOMEPORT_CLAIM_WITHDRAWN: 'Link undone',
  HOMEPORT_ACCESS_GRANTED: 'Access granted',
  HOMEPORT_ACCESS_REVOKED: 'Access revoked',
}

export function eventName(type: string): string {
  return EVENT_TYPES[type] ?? OWN_TYPES[type] ?? type
}

/** The values of a purchase's fields in words. */
const VALUES: Record<string, Record<string, string>> = {
  environment: { PRODUCTION: 'production', SANDBOX: 'sandbox' },
  store: {
    APP_STORE: 'App Store',
    MAC_APP_STORE: 'Mac App Store',
    PLAY_STORE: 'Play Store',
    RC_BILLING: 'Web billing',
  },
  periodType: {
    NORMAL: 'regular',
    TRIAL: 'trial',
    INTRO: 'introductory offer',
    PROMOTIONAL: 'promotional',
    PREPAID: 'prepaid',
    CONSUMABLE: 'consumable',
  },
  cancelReason: {
    UNSUBSCRIBE: 'cancelled by the user',
    BILLING_ERROR: 'payment failed',
    DEVELOPER_INITIATED: 'cancelled by the developer',
    PRICE_INCREASE: 'price increase not accepted',
    CUSTOMER_SUPPORT: 'refunded by support',
    SUBSCRIPTION_PAUSED: 'paused',
    UNKNOWN: 'unknown',
  },
}

/** The value of a purchase's field in words; a value without any stays as it is. */
export function fieldWords(field: string, value: unknown): unknown {
  return typeof value === 'string' ? (VALUES[field]?.[value] ?? value) : value
}
