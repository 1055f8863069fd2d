/**
 * What a user's best purchase means for support. `unlocks_nothing`: has paid for a product that gives no entitlement.
 * `none`: has never had a subscription.
 */
export const ACCESS_STATUSES = [
  'paying',
  'trial',
  'unlocks_nothing',
  'billing_issue',
  'cancelled',
  'granted',
  'expired',
  'none',
] as const

export type AccessStatus = (typeof ACCESS_STATUSES)[number]
