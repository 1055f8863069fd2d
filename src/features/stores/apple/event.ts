import { DAY_MS } from '../../../lib/time/durations.ts'
import {
  type BillingEvent,
  countryCode,
  type Money,
  money,
  NO_EVENT,
  readTime,
} from '../../billing/inbox/event.ts'
import { unreadable } from '../../billing/inbox/event-problem.ts'
import { type AppleDocument, readEnvironment } from './notification.ts'
import type { Claims } from './token.ts'

/** The type of a document that is not a notification: see `snapshot.ts`. */
export const SNAPSHOT = 'HOMEPORT_STATEMENT'

/** The event type by a notification's type and subtype. If the pair is not listed, the type alone counts. */
const EVENT_TYPES: Record<string, string> = {
  SUBSCRIBED: 'INITIAL_PURCHASE',
  'SUBSCRIBED RESUBSCRIBE': 'RENEWAL',
  DID_RENEW: 'RENEWAL',
  'DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED': 'CANCELLATION',
  'DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED': 'UNCANCELLATION',
  DID_CHANGE_RENEWAL_PREF: 'PRODUCT_CHANGE',
  'DID_CHANGE_RENEWAL_PREF UPGRADE': 'RENEWAL',
  OFFER_REDEEMED: 'RENEWAL',
  'OFFER_REDEEMED DOWNGRADE': 'PRODUCT_CHANGE',
  DID_FAIL_TO_RENEW: 'BILLING_ISSUE',
  GRACE_PERIOD_EXPIRED: 'EXPIRATION',
  EXPIRED: 'EXPIRATION',
  REFUND: 'REFUND',
  REFUND_REVERSED: 'REFUND_REVERSED',
  REVOKE: 'EXPIRATION',
  RENEWAL_EXTENDED: 'SUBSCRIPTION_EXTENDED',
  ONE_TIME_CHARGE: 'NON_RENEWING_PURCHASE',
  PRICE_INCREASE: 'PRICE_INCREASE',
  REFUND_DECLINED: 'REFUND_DECLINED',
  CONSUMPTION_REQUEST: 'CONSUMPTION_REQUEST',
  [SNAPSHOT]: 'HOMEPORT_RECONCILED',
}

const SUBSCRIPTION = 'Auto-Renewable Subscription'
const PREPAID = 'Non-Renewing Subscription'
const CONSUMABLE = 'Consumable'

/** The `status` of a notification about an expired subscription, and about one in its grace period. */
const EXPIRED_STATUS = 2
const GRACE_STATUS = 4
/** The longest grace period, if Apple does not state its end. */
const MAX_GRACE_MS = 28 * DAY_MS
/** Reasons by the `expirationIntent` of the renewal info. */
const EXPIRATION_REASONS: Record<number, string> = {
  1: 'UNSUBSCRIBE',
  2: 'BILLING_ERROR',
  3: 'PRICE_INCREASE',
}

/**
 * Apple describes the whole purchase in every notification. Null if its id, type or environment is missing.
 * https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
 */
export function appleEvent({
  notification,
  transaction,
  renewal,
}: AppleDocument): BillingEvent | null {
  const id = text(notification, 'notificationUUID')
  const type = text(notification, 'notificationType')
  const environment = readEnvironment(notification)
  if (id === null || type === null || environment === null) return null
  const at =
    integer(renewal, 'signedDate') ??
    integer(transaction, 'signedDate') ??
    integer(notification, 'signedDate')
  const baseEvent = { ...NO_EVENT, id, at, environment, hasEnvironment: true, store: 'APP_STORE' }
  if (transaction === null) return { ...baseEvent, type }
  return {
    ...baseEvent,
    ...readPurchase(transaction, renewal, { at, type, status: readStatus(notification) }),
    type: toEventType(type, text(notification, 'subtype')),
  }
}

function toEventType(type: string, subtype: string | null): string {
  return EVENT_TYPES[`${type} ${subtype}`] ?? EVENT_TYPES[type] ?? 'RENEWAL'
}

function readStatus({ data, subtype }: Claims): number | null {
  const status = integer((data ?? null) as Claims | null, 'status')
  return status ?? (subtype === 'GRACE_PERIOD' ? GRACE_STATUS : null)
}

type NotificationFields = { at: number | null; type: string; status: number | null }

function readPurchase(
  transaction: Claims,
  renewal: Claims | null,
  { at, type, status }: NotificationFields,
) {
  const userId = text(transaction, 'appAccountToken') ?? text(renewal, 'appAccountToken')
  const productId = text(transaction, 'productId')
  const nextProductId = text(renewal, 'autoRenewProductId')
  const boughtAt = integer(transaction, 'purchaseDate')
  const isConsumable = transaction['type'] === CONSUMABLE
  const expiresAt = integer(transaction, 'expiresDate')
  const revokedAt = integer(transaction, 'revocationDate')
  const isSubscription = transaction['type'] === SUBSCRIPTION
  const willRenew = renewal === null ? null : renewal['autoRenewStatus'] === 1
  const isInGrace = status === GRACE_STATUS && expiresAt !== null
  const graceExpiresAt =
    integer(renewal, 'gracePeriodExpiresDate') ?? (isInGrace ? expiresAt + MAX_GRACE_MS : null)
  const hasIssue = renewal?.['isInBillingRetryPeriod'] === true || graceExpiresAt !== null
  const isOver = status === EXPIRED_STATUS || type === 'EXPIRED'
  const reason = EXPIRATION_REASONS[integer(renewal, 'expirationIntent') ?? 0] ?? null
  const revocation = text(transaction, 'revocationType')
  const isRefund = type !== 'REVOKE' && (revocation === null || revocation.startsWith('REFUND_'))
  const paid = money(transaction['currency'], readPrice(transaction))
  return {
    stated: isSubscription && renewal === null ? ('partial' as const) : ('full' as const),
    appUserId: userId?.toLowerCase() ?? null,
    isSuggestedOwner: true,
    productId,
    newProductId: nextProductId === productId ? null : nextProductId,
    periodType: toPeriodType(transaction),
    price: transaction['currency'] === 'USD' ? readPrice(transaction) : null,
    paid,
    paidBack: revocation === 'REFUND_PRORATED' ? computeRefundShare(paid, transaction) : null,
    country: countryCode(transaction['storefront']),
    isFamilyShared: transaction['inAppOwnershipType'] === 'FAMILY_SHARED',
    startedAt: integer(transaction, 'originalPurchaseDate'),
    purchasedAt: boughtAt,
    expiresAt,
    graceExpiresAt,
    transactionId: text(transaction, 'transactionId'),
    originalTransactionId: text(transaction, 'originalTransactionId'),
    willRenew: isSubscription ? willRenew : false,
    cancelReason: willRenew === false ? (reason ?? 'UNSUBSCRIBE') : null,
    expirationReason: isOver ? (reason ?? 'UNKNOWN') : null,
    billingIssueAt: hasIssue ? at : null,
    unsubscribedAt: willRenew === false && !hasIssue ? at : null,
    refundedAt: isRefund ? revokedAt : null,
    // A consumable has an owner, but gives no access.
    endedAt: isConsumable ? boughtAt : (revokedAt ?? (isOver ? expiresAt : null)),
    problem: isSubscription && expiresAt === null ? unreadable('expiresDate') : null,
  }
}

function toPeriodType({ type, offerDiscountType, offerType }: Claims): string {
  if (type === CONSUMABLE) return 'CONSUMABLE'
  if (type === PREPAID) return 'PREPAID'
  if (offerDiscountType === 'FREE_TRIAL') return 'TRIAL'
  return offerType === undefined ? 'NORMAL' : 'INTRO'
}

/** `revocationPercentage` is in thousandths of a percent. */
function computeRefundShare(paid: Money | null, { revocationPercentage }: Claims): Money | null {
  if (paid === null || typeof revocationPercentage !== 'number') return null
  return { ...paid, amount: Math.round((paid.amount * revocationPercentage) / 100_000) }
}

/** Prices are in thousandths of the currency. */
function readPrice({ price }: Claims): number | null {
  return typeof price === 'number' ? price / 1000 : null
}

function text(claims: Claims | null, name: string): string | null {
  const value = claims?.[name]
  return typeof value === 'string' && value !== '' && value.length <= 255 ? value : null
}

function integer(claims: Claims | null, name: string): number | null {
  return readTime(claims?.[name])
}
