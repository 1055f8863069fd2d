import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Entitlement, SubscriptionLine } from '../../models.ts'
import { type Purchase, toIso } from '../state.ts'
import type { SubscriptionGrant, SubscriptionState } from '../types.ts'

/** A purchase, and the access that it gives now. */
export type Access = { purchase: Purchase; active: boolean; status: string; end: number }

const PERIOD_MS = 30 * DAY_MS
const GRACE_MS = 16 * DAY_MS
/** States whose period has usually ended. */
const ENDED = /expired|refunded|paused|grace/

/** What the store reports about a purchase in each state. `end`: when its period ends. */
const STATES: Record<SubscriptionState, (now: number, end: number) => Partial<SubscriptionLine>> = {
  active: () => ({ willRenew: true }),
  trial: () => ({ willRenew: true, periodType: 'TRIAL' }),
  cancelled: (now) => ({ cancelReason: 'UNSUBSCRIBE', unsubscribeDetectedAt: formatTime(now) }),
  paused: (_now, end) => ({ autoResumeAt: formatTime(end + PERIOD_MS) }),
  grace_period: failPayment,
  billing_retry: failPayment,
  expired: () => ({}),
  refunded: (now) => ({
    willRenew: true,
    cancelReason: 'CUSTOMER_SUPPORT',
    refundedAt: formatTime(now),
  }),
  lifetime: () => ({}),
}

function failPayment(now: number, end: number): Partial<SubscriptionLine> {
  return { cancelReason: 'BILLING_ERROR', billingIssueDetectedAt: formatTime(Math.min(now, end)) }
}

/** Creates the purchase that a test grants. `productId`: the plan's product. */
export function toPurchase(
  grant: SubscriptionGrant,
  { productId, transactionId, now }: { productId: string; transactionId: string; now: number },
): Purchase {
  const { entitlement = 'pro', state = 'active', environment = 'production' } = grant
  const { store = 'APP_STORE' } = grant
  const usualEnd = ENDED.test(state) ? now - 1000 : now + PERIOD_MS
  const end = Number(new Date(grant.expiresAt ?? usualEnd))
  const endings: Partial<Record<SubscriptionState, number>> = { expired: end, refunded: now }
  const details = { productId: grant.productId ?? productId, store, periodType: 'NORMAL' }
  return {
    entitlement,
    environment,
    transactionId,
    purchasedAt: Math.min(now, end - PERIOD_MS),
    expiresAt: state === 'lifetime' ? Infinity : end,
    graceExpiresAt: state === 'grace_period' ? end + GRACE_MS : 0,
    endedAt: endings[state] ?? Infinity,
    details: { ...details, willRenew: false, ...STATES[state](now, end) } as Purchase['details'],
  }
}

/** Returns the access that a purchase gives at `now`, by the real server's rules. */
export function assess(purchase: Purchase, now: number): Access {
  const { expiresAt, graceExpiresAt, endedAt } = purchase
  const end = Math.min(Math.max(expiresAt, graceExpiresAt), endedAt)
  const active = end > now
  return { purchase, end, active, status: findStatus(purchase, active, now) }
}

function findStatus({ details, graceExpiresAt }: Purchase, active: boolean, now: number): string {
  if (details.refundedAt !== undefined) return 'refunded'
  if (!active) return details.autoResumeAt === undefined ? 'expired' : 'paused'
  if (details.billingIssueDetectedAt !== undefined)
    return graceExpiresAt > now ? 'in_grace_period' : 'in_billing_retry'
  return details.periodType === 'TRIAL' ? 'trialing' : 'active'
}

/** Sorts active purchases first, then by the later end. */
export function compareAccess(a: Access, b: Access): number {
  return Number(b.active) - Number(a.active) || b.end - a.end || 0
}

export function toLine({ purchase, status, end }: Access): SubscriptionLine {
  const { details, purchasedAt, expiresAt } = purchase
  return {
    ...details,
    status,
    purchasedAt: toIso(purchasedAt),
    expiresAt: toIso(expiresAt),
    effectiveEndAt: toIso(end),
  }
}

export function toEntitlement({ purchase, active, end }: Access): Entitlement {
  const { entitlement, graceExpiresAt, details } = purchase
  const { productId, store, periodType, willRenew } = details
  return {
    id: entitlement,
    active,
    expiresAt: toIso(end),
    gracePeriodExpiresAt: toIso(graceExpiresAt || Infinity),
    productId,
    store,
    periodType,
    willRenew,
  }
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString()
}
