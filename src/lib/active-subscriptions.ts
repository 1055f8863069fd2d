type Purchase = Record<'store' | 'productId' | 'expiresAt' | 'effectiveEndAt', string | null> & {
  status: string
  willRenew: boolean
  billingIssueDetectedAt?: string
  isSandbox?: boolean
}

export type ActiveSubscription = ReturnType<typeof findActiveSubscriptions>[number]

/** Deletes an account; returns the subscriptions that still renew at their stores. */
export type DeleteAccount = (userId: string) => Promise<ActiveSubscription[]>

/** Where users cancel a subscription themselves, by store. */
export const MANAGEMENT_PAGES: Record<string, string> = {
  APP_STORE: 'https://apps.apple.com/account/subscriptions',
  MAC_APP_STORE: 'https://apps.apple.com/account/subscriptions',
  PLAY_STORE: 'https://play.google.com/store/account/subscriptions',
}

/** The subscriptions that still renew at their stores, including after a pause or while a store retries a payment. */
export function findActiveSubscriptions(purchases: Purchase[]) {
  return purchases.flatMap(({ store, productId, status, expiresAt, effectiveEndAt, ...others }) => {
    const isRetried = status === 'expired' && others.willRenew && others.billingIssueDetectedAt
    const isOver = /^(expired|refunded|consumed)$/.test(status) && !isRetried
    if (isOver || expiresAt === null || store === 'PROMOTIONAL' || others.isSandbox) return []
    const willRenew = others.willRenew || /^(paused|in_grace_period|in_billing_retry)$/.test(status)
    const managementUrl = MANAGEMENT_PAGES[store ?? ''] ?? null
    return { store, productId, expiresAt: effectiveEndAt, willRenew, managementUrl }
  })
}

/** The names of subscriptions that stores still charge for, and where to cancel them. */
export function filterCharged(subscriptions: ActiveSubscription[]) {
  const charged = subscriptions.filter(({ willRenew }) => willRenew)
  return charged.map(({ productId, store, ...one }) => ({
    ...one,
    name: productId ?? store ?? '…',
  }))
}
