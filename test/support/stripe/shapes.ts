import type Stripe from 'stripe'
import { copy, type FakeEvent, PINNED_VERSION } from './events.ts'
import type { StripeObject } from './object-store.ts'

/** The format of an endpoint's events: that of the pinned API version, that of an older one, or only ids. */
export type EventShape = 'pinned' | 'old' | 'thin'

export const OLD_VERSION = '2024-06-20'

export function bodyOfEvent(event: FakeEvent, shape: EventShape): object {
  if (shape === 'thin') return thinEvent(event)
  return shape === 'old' ? oldEvent(event) : event
}

function oldEvent(event: FakeEvent) {
  return { ...event, api_version: OLD_VERSION, data: { object: oldObject(event.data.object) } }
}

/** An object as the API showed it before March 2025. */
export function oldObject(object: StripeObject): object {
  const plain = copy(object)
  if (plain.object === 'subscription') return oldSubscription(plain)
  if (plain.object === 'invoice') return oldInvoice(plain)
  return plain
}

function oldSubscription({ billing_mode: _, ...rest }: Stripe.Subscription) {
  const [first] = rest.items.data
  const data = rest.items.data.map(
    ({ current_period_start, current_period_end, ...item }: Stripe.SubscriptionItem) => item,
  )
  return {
    ...rest,
    current_period_start: first?.current_period_start,
    current_period_end: first?.current_period_end,
    plan: first?.plan,
    quantity: first?.quantity,
    items: { ...rest.items, data },
  }
}

function oldInvoice({ parent, ...rest }: Stripe.Invoice) {
  return {
    ...rest,
    paid: rest.status === 'paid',
    subscription: parent?.subscription_details?.subscription ?? null,
    subscription_details: { metadata: parent?.subscription_details?.metadata ?? {} },
  }
}

const PATHS: Partial<Record<StripeObject['object'], string>> = {
  'checkout.session': '/v1/checkout/sessions',
  payment_intent: '/v1/payment_intents',
}

function thinEvent({ id, created, livemode, type, data: { object } }: FakeEvent) {
  const path = PATHS[object.object] ?? `/v1/${object.object}s`
  return {
    id,
    object: 'v2.core.event',
    created: new Date(created * 1000).toISOString(),
    livemode,
    type: `v1.${type}`,
    related_object: {
      id: object.id,
      type: object.object,
      url: `${path}/${object.id}`,
    },
  } satisfies Stripe.V2.Core.EventBase & { related_object: Stripe.V2.Core.Events.RelatedObject }
}

export function isKnownVersion(version: string): boolean {
  return version === PINNED_VERSION || version === OLD_VERSION
}
