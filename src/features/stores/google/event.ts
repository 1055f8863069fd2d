import type { Json } from '../../../lib/text/json.ts'
import type { StoredEnvironment } from '../../billing/environment.ts'
import { type BillingEvent, NO_EVENT } from '../../billing/inbox/event.ts'
import { unreadable } from '../../billing/inbox/event-problem.ts'
import { type PlayAnswer, type PlayItem, type PurchaseKind, parseReply } from './api/answer.ts'
import { PlayApiError } from './api/api-error.ts'
import { type PushDocument, pushEvent } from './push/notification.ts'

/**
 * A response about one product. It has neither the period's start nor what changed, so the document adds both. Times in
 * ms.
 */
export type SnapshotDocument = {
  packageName: string
  /** SHA-256 of the purchase token. */
  tokenHash: string
  askedAt: number
  /** The time that orders the event, if the clock was ahead at an earlier response. */
  orderedAt?: number
  type: string
  /** The key of the purchase without its environment. */
  line: string
  productId: string
  /** The start of the current period; null if it is unknown. */
  periodStartedAt: number | null
  /** The end of the current period, without a grace period. */
  periodEndsAt: number | null
  /** The owner of the purchase that this one replaces, if Google names no user, or a user from before a claim. */
  userId?: string
  /** The owner of the purchase's main product, if Google names another user and this is not the main product. */
  mainOwner?: string
  /** The product is no longer part of the purchase. */
  isRemoved?: true
  kind: PurchaseKind
  reply: Json
}

/** Times in ms. */
export type RefundDocument = {
  packageName: string
  tokenHash: string
  line: string
  environment: StoredEnvironment
  voided: { orderId: string; at: number; isPartial: boolean; reason?: number }
}

type UnreadableDocument = { unreadable: Json; tokenHash: string; askedAt: number }

type PlayDocument = SnapshotDocument | RefundDocument | PushDocument | UnreadableDocument

/** Throws `PlayApiError` for a response that `parseReply` rejects. */
export function playEvent(document: PlayDocument): BillingEvent {
  if ('notification' in document) return pushEvent(document)
  if ('voided' in document) return refundEvent(document)
  if ('unreadable' in document) return unreadableEvent(document)
  return toSnapshotEvent(document)
}

/** Describes the purchase as it is now, whatever was known before. */
function toSnapshotEvent(document: SnapshotDocument): BillingEvent {
  const { askedAt, type, line, productId, periodEndsAt, userId, isRemoved } = document
  const at = document.orderedAt ?? askedAt
  const answer = parseReply(document.kind, document.reply)
  const matching = answer.items.find((one) => one.productId === productId) ?? answer.items[0]
  // The response no longer describes a removed product.
  const item = isRemoved ? undefined : matching
  const { state, environment } = answer
  const isInGrace = state === 'IN_GRACE_PERIOD'
  const isUnsubscribed = state === 'CANCELED' && answer.cancelReason === 'UNSUBSCRIBE'
  return {
    ...NO_EVENT,
    id: `${line}:${at}`,
    type,
    at,
    environment,
    hasEnvironment: true,
    store: 'PLAY_STORE',
    stated: 'full',
    appUserId: document.mainOwner ?? userId ?? answer.userId,
    isSuggestedOwner: true,
    productId,
    newProductId: item?.nextProductId ?? null,
    periodType: item?.periodType ?? null,
    price: item?.price ?? null,
    paid: item?.paid ?? null,
    country: answer.country,
    startedAt: answer.startedAt,
    purchasedAt: document.periodStartedAt,
    expiresAt: periodEndsAt,
    graceExpiresAt: isInGrace ? (item?.endsAt ?? null) : null,
    autoResumeAt: answer.autoResumeAt,
    transactionId: item?.orderId ?? null,
    originalTransactionId: line,
    willRenew: item?.willRenew === true,
    cancelReason: answer.cancelReason,
    expirationReason: toExpirationReason(answer, isRemoved),
    billingIssueAt: isInGrace || state === 'ON_HOLD' ? askedAt : null,
    unsubscribedAt: isUnsubscribed ? (answer.cancelledAt ?? askedAt) : null,
    refundedAt: state === 'CANCELLED' ? askedAt : null,
    endedAt: isRemoved ? askedAt : findEnd(answer, item, document),
    problem:
      answer.kind === 'subscription' && periodEndsAt === null && !isRemoved
        ? unreadable('expiryTime')
        : null,
  }
}

/** When access ended; null while it has not. */
function findEnd(
  { state }: PlayAnswer,
  item: PlayItem | undefined,
  { askedAt, periodStartedAt }: SnapshotDocument,
): number | null {
  // A consumed product has an owner, but gives no access.
  if (item?.periodType === 'CONSUMABLE') return periodStartedAt ?? askedAt
  if (state === 'CANCELLED') return askedAt
  const isOver = state === 'EXPIRED' || state === 'ON_HOLD' || state === 'PAUSED'
  return isOver ? Math.min(item?.endsAt ?? askedAt, askedAt) : null
}

function toExpirationReason({ state, cancelReason }: PlayAnswer, isRemoved?: true): string | null {
  if (isRemoved) return 'UNSUBSCRIBE'
  if (state === 'PAUSED') return 'SUBSCRIPTION_PAUSED'
  if (state === 'ON_HOLD') return 'BILLING_ERROR'
  return state === 'EXPIRED' ? (cancelReason ?? 'UNKNOWN') : null
}

/** By `voidedReason`. https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases */
const UNACKNOWLEDGED = 8

/** Only the refund of a whole order ends access. */
function refundEvent({ line, environment, voided }: RefundDocument): BillingEvent {
  const { orderId, at, isPartial, reason } = voided
  return {
    ...NO_EVENT,
    // The rest of a partly refunded order may be refunded later.
    id: `voided:${orderId}:${line}${isPartial ? ':partial' : ''}`,
    type: isPartial ? 'PLAY_PARTIAL_REFUND' : 'REFUND',
    at,
    environment,
    hasEnvironment: true,
    store: 'PLAY_STORE',
    transactionId: orderId,
    originalTransactionId: line,
    cancelReason: reason === UNACKNOWLEDGED ? 'UNACKNOWLEDGED' : 'CUSTOMER_SUPPORT',
  }
}

function unreadableEvent({ tokenHash, askedAt }: UnreadableDocument): BillingEvent {
  return {
    ...NO_EVENT,
    id: `unreadable:${tokenHash.slice(0, 32)}:${askedAt}`,
    type: 'PLAY_UNREADABLE',
    at: askedAt,
    store: 'PLAY_STORE',
    problem: { outcome: 'failed', reason: new PlayApiError('unreadable').message },
  }
}
