import type { AccessStatus } from '../../../lib/access-status.ts'
import { PLATFORM_NAMES } from '../../../lib/app-platforms.ts'
import { countryName, words } from '../../format.ts'
import type { Tone } from '../../ui/parts.tsx'

type Origin = {
  source: 'store' | 'provider' | 'granted'
  isClaimed: boolean
  link: { id: string; by: string } | null
}

type Offer = { plan: string | null; productId: string | null }
type State = { active: boolean; status: string; access: AccessStatus | null }

export function storeName(store: string | null): string {
  if (store === null) return 'Unknown store'
  const name = fieldWords('store', store)
  return name === store ? words(store) : String(name)
}

/** The status of a purchase: while active, as in the user list; otherwise why it ended. */
export function describeStatus({ active, status, access }: State): [name: string, tone: Tone] {
  if (access !== null && (active || status === 'expired')) return ACCESS[access]
  return [words(status), active ? 'good' : 'plain']
}

/** A purchase by its plan, otherwise by its product. */
export function productName({ plan, productId }: Offer): string {
  return plan ?? productId ?? 'Unknown product'
}

/** Whether a purchase is expected to renew at its end. */
export function endName({ active, access, willRenew }: State & { willRenew: boolean }): string {
  if (!active) return 'Ended'
  if (access === 'billing_issue') return 'Access until'
  return willRenew ? 'Renews' : 'Ends'
}

/** The source that reported the purchase. */
export function sourceName({ source, store }: Origin & { store: string | null }): string {
  if (source === 'granted') return 'Granted by support'
  return source === 'provider' ? 'Billing provider' : `Direct from ${storeName(store)}`
}

/** How the purchase got its owner; null in the usual case, in which the provider assigned it. */
export function claimName({ source, isClaimed, link }: Origin): string | null {
  if (source === 'granted') return 'no purchase'
  if (link !== null) return `linked by ${link.by}`
  if (isClaimed) return 'claimed by the user'
  return source === 'store' ? 'assigned at purchase, not yet claimed' : null
}

/** The name and colour of each status. Access that has ended is not a fault, so it is not red. */
export const ACCESS: Record<AccessStatus, [name: string, tone: Tone]> = {
  paying: ['Paying', 'good'],
  trial: ['Trial', 'good'],
  unlocks_nothing: ['Paid, but no access', 'bad'],
  billing_issue: ['Payment issue', 'warn'],
  cancelled: ['Cancelled, still active', 'warn'],
  granted: ['Granted', 'good'],
  expired: ['Ended', 'plain'],
  none: ['No subscription', 'plain'],
}

/** `iOS, Brazil`; empty if neither is known. */
export function placeName(platform: string | null, country: string | null): string {
  return [platform && (PLATFORM_NAMES[platform] ?? platform), country && countryName(country)]
    .filter(Boolean)
    .join(', ')
}

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
  SUBSCRIBER_ALIAS: 'User ids merged',
  PURCHASE_REDEEMED: 'Redeemed',
  HOMEPORT_RECONCILED: 'Corrected by reconciliation',
  TEST: 'Test',
}

/** The events that Homeport records itself, which the event log does not list. */
const OWN_TYPES: Record<string, string> = {
  HOMEPORT_STATEMENT: 'Reported by the store',
  STRIPE_PARTIAL_REFUND: 'Refunded in part',
  HOMEPORT_PURCHASE_CLAIMED: 'Linked to a user',
  HOMEPORT_CLAIM_WITHDRAWN: 'Link undone',
  HOMEPORT_ACCESS_GRANTED: 'Access granted',
  HOMEPORT_ACCESS_REVOKED: 'Access revoked',
}

export function eventName({ type, isRefund }: { type: string; isRefund: boolean }): string {
  return typeName(isRefund ? 'REFUND' : type)
}

function typeName(type: string): string {
  return EVENT_TYPES[type] ?? OWN_TYPES[type] ?? type
}

/** The name of a type in the filter. The type alone does not tell a cancellation from a refund. */
export function typeFilterName(type: string): string {
  return type === 'CANCELLATION' ? 'Cancelled or refunded' : typeName(type)
}

/** Why an event was not applied, without the kind of the error. */
export function failureReason(error: string): string {
  return error.replace(/^Error: /, '')
}

/** The values of a purchase's fields in words. */
const VALUES: Record<string, Record<string, string>> = {
  environment: { PRODUCTION: 'production', SANDBOX: 'sandbox' },
  store: {
    APP_STORE: 'App Store',
    MAC_APP_STORE: 'Mac App Store',
    PLAY_STORE: 'Google Play',
    STRIPE: 'Stripe',
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
    DISPUTED: 'disputed with the bank',
    SUBSCRIPTION_PAUSED: 'paused',
    UNKNOWN: 'unknown',
  },
}

/** The value of a purchase's field in words; an unknown value stays as it is. */
export function fieldWords(field: string, value: unknown): unknown {
  return typeof value === 'string' ? (VALUES[field]?.[value] ?? value) : value
}
