import { type Json, toObject } from '../../../../lib/text/json.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import { type Delivery, readAppUserId } from '../../../billing/inbox/event.ts'
import { text } from '../../json.ts'
import { toDelivery } from './delivery.ts'
import { time } from './state.ts'

/** The types of events that the webhook needs. */
export const EVENT_TYPES = [
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.resumed',
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'invoice.paid',
  'invoice.payment_failed',
  'invoice.voided',
  'invoice.marked_uncollectible',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
  'customer.deleted',
]

/** What to query Stripe about; `userId`: the owner that a checkout names. */
export type Target = { id: string; customer?: string | null; userId?: string | null }

export type Notification = {
  delivery: Delivery
  type: string
  isLive: boolean
  /** Whether the event is about another account (Stripe Connect). */
  isForeign: boolean
  /** Null if the event concerns no subscription. */
  target: Target | null
}

const OBJECT_ID = /^(sub|cs|in|ch|py|re|pyr|dp|du|cus)_\w{1,250}$/

export function isObjectId(id: string | null): id is string {
  return id !== null && OBJECT_ID.test(id)
}

/** Null for a body that is not an event. Reads events with and without the object that they are about. */
export function readNotification(body: Json, environment: StoredEnvironment): Notification | null {
  const id = text(body['id'])
  const type = text(body['type'])?.replace(/^v1\./, '') ?? null
  const object = toObject(toObject(body['data'])['object'])
  const objectId = text(toObject(body['related_object'])['id']) ?? text(object['id'])
  const isEvent = id !== null && /^evt_\w{1,250}$/.test(id) && type !== null && objectId !== null
  if (!isEvent || (EVENT_TYPES.includes(type) && !isObjectId(objectId))) return null
  const created = body['created']
  const at = typeof created === 'string' ? Date.parse(created) || null : time(created)
  const document = { notification: { id, type, at, object: objectId }, environment }
  return {
    delivery: toDelivery(document),
    type,
    isLive: body['livemode'] === true,
    isForeign: text(body['account'] ?? body['context']) !== null,
    target: EVENT_TYPES.includes(type) ? findTarget(objectId, object) : null,
  }
}

/** The subscription or charge that an object belongs to, if the object says so, else the object itself. */
export function findTarget(id: string, object: Json): Target {
  const { parent, subscription, charge } = object
  const ofInvoice = toObject(toObject(parent)['subscription_details'])['subscription']
  const related = [subscription, ofInvoice, charge].map((value) => text(value)).find(isObjectId)
  return {
    id: related ?? id,
    customer: text(object['customer']),
    userId: id.startsWith('cs_') ? readAppUserId(object['client_reference_id']) : null,
  }
}
