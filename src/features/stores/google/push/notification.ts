import { sha256 } from '../../../../lib/crypto/hash.ts'
import { isObject, type Json, parseJson, toObject } from '../../../../lib/text/json.ts'
import { type BillingEvent, type Delivery, NO_EVENT } from '../../../billing/inbox/event.ts'
import { redactForLog, text, time, token } from '../../json.ts'
import type { PurchaseKind } from '../api/answer.ts'

/** `changed` is null if the notification concerns no purchase. */
export type Push = {
  delivery: Delivery
  subscription: string
  /** Null in a notification that cannot be read. */
  packageName: string | null
  changed: { purchaseToken: string; kind: PurchaseKind | null; productId: string | null } | null
  /** The refund of an order: Google's responses about a purchase do not mention it. */
  voided: { orderId: string; isPartial: boolean; at: number } | null
}

export type PushDocument = { messageId: string; notification: Json; fault?: string }

const KINDS = [
  'subscriptionNotification',
  'oneTimeProductNotification',
  'voidedPurchaseNotification',
  'pendingRefundReviewNotification',
  'testNotification',
] as const
type Kind = (typeof KINDS)[number]

/** By `notificationType`. https://developer.android.com/google/play/billing/rtdn-reference */
const SUBSCRIPTION_TYPES: Record<number, string> = {
  1: 'RECOVERED',
  2: 'RENEWED',
  3: 'CANCELED',
  4: 'PURCHASED',
  5: 'ON_HOLD',
  6: 'IN_GRACE_PERIOD',
  7: 'RESTARTED',
  8: 'PRICE_CHANGE_CONFIRMED',
  9: 'DEFERRED',
  10: 'PAUSED',
  11: 'PAUSE_SCHEDULE_CHANGED',
  12: 'REVOKED',
  13: 'EXPIRED',
  17: 'ITEMS_CHANGED',
  18: 'CANCELLATION_SCHEDULED',
  19: 'PRICE_CHANGE_UPDATED',
  20: 'PENDING_PURCHASE_CANCELED',
  22: 'PRICE_STEP_UP_CONSENT_UPDATED',
}
const PRODUCT_TYPES: Record<number, string> = { 1: 'PURCHASED', 2: 'CANCELED' }
const VOIDED_SUBSCRIPTION = 1
const PARTIAL_REFUND = 2

/** Reads the body of a push; null if Pub/Sub was set up to send it in another format. */
export function readPush(body: Json): Push | null {
  const { message, subscription } = body
  const { data, messageId } = toObject(message)
  const id = text(messageId)
  if (id === null) return null
  const notification = decode(data)
  const kinds = KINDS.filter((kind) => notification?.[kind] !== undefined)
  const [kind] = kinds
  const fault =
    notification === null
      ? 'The data of the message is not JSON in base64.'
      : kinds.length === 1
        ? null
        : `The notification has ${kinds.length} kinds instead of one.`
  const document: PushDocument = {
    messageId: id,
    notification: notification === null ? { data: data ?? null } : redactForLog(notification),
    ...(fault === null ? {} : { fault }),
  }
  const bytes = Buffer.from(JSON.stringify(document))
  const event = pushEvent(document)
  const subject = fault === null && kind ? toObject(notification?.[kind]) : {}
  return {
    delivery: {
      provider: 'play_store',
      event,
      bytes,
      hash: sha256(bytes, 'hex'),
    },
    subscription: text(subscription) ?? '',
    packageName: text(notification?.['packageName']),
    changed: readChangedPurchase(kind, subject),
    voided: readVoidedOrder(kind, subject, event.at),
  }
}

/** The event itself has no effect: Homeport then queries the purchase. */
export function pushEvent({ messageId, notification, fault }: PushDocument): BillingEvent {
  const [kind] = KINDS.filter((one) => notification[one] !== undefined)
  const type = fault !== undefined || !kind ? 'PLAY_UNREADABLE' : toType(kind, notification)
  return {
    ...NO_EVENT,
    id: messageId,
    type,
    at: time(notification['eventTimeMillis']),
    store: 'PLAY_STORE',
    problem: fault === undefined ? null : { outcome: 'failed', reason: fault },
  }
}

function toType(kind: Kind, notification: Json): string {
  const number = Number(toObject(notification[kind])['notificationType'])
  switch (kind) {
    case 'subscriptionNotification':
      return `PLAY_SUBSCRIPTION_${SUBSCRIPTION_TYPES[number] ?? 'CHANGED'}`
    case 'oneTimeProductNotification':
      return `PLAY_PRODUCT_${PRODUCT_TYPES[number] ?? 'CHANGED'}`
    case 'voidedPurchaseNotification':
      return 'PLAY_PURCHASE_VOIDED'
    case 'pendingRefundReviewNotification':
      return 'PLAY_REFUND_REVIEW'
    default:
      return 'PLAY_TEST'
  }
}

function readChangedPurchase(kind: Kind | undefined, subject: Json): Push['changed'] {
  const purchaseToken = token(subject['purchaseToken'])
  if (purchaseToken === null) return null
  const isSubscription =
    kind === 'subscriptionNotification' || subject['productType'] === VOIDED_SUBSCRIPTION
  return {
    purchaseToken,
    kind: isSubscription ? 'subscription' : 'one_time',
    productId: text(subject['sku']),
  }
}

function readVoidedOrder(kind: Kind | undefined, subject: Json, at: number | null): Push['voided'] {
  const orderId = text(subject['orderId'])
  if (kind !== 'voidedPurchaseNotification' || orderId === null || at === null) return null
  return { orderId, isPartial: subject['refundType'] === PARTIAL_REFUND, at }
}

function decode(data: unknown): Json | null {
  if (typeof data !== 'string') return null
  const content = parseJson(Buffer.from(data, 'base64').toString('utf8'))
  return isObject(content) ? content : null
}
