/** What a user's best purchase means to support. `none`: has never had a subscription. */
export const ACCESS_STATUSES = [
  'paying',
  'trial',
  'billing_issue',
  'cancelled',
  'granted',
  'expired',
  'none',
] as const

export type AccessStatus = (typeof ACCESS_STATUSES)[number]
