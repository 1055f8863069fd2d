import Stripe from 'stripe'
import type { ObjectStore, StripeObject } from './object-store.ts'
import type { Timeline } from './timeline.ts'

export const PINNED_VERSION = Stripe.API_VERSION
const RETENTION = 30 * 86_400

/** The types that Homeport listens to. */
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
] satisfies Stripe.Event['type'][]

/** An event with a copy of its object, as it was then. */
export type FakeEvent = Omit<Stripe.EventBase, 'data' | 'type'> & {
  type: Stripe.Event['type']
  data: { object: StripeObject; previous_attributes?: Record<string, unknown> }
}
export type Events = ReturnType<typeof createEvents>

/** Everything that has happened, oldest first. */
export function createEvents(objects: ObjectStore, timeline: Timeline) {
  const all: FakeEvent[] = []
  const listeners: ((event: FakeEvent) => void)[] = []
  let isSilent = false
  return { all, emit, update, listen, listRetained, silence }

  function emit(type: FakeEvent['type'], object: StripeObject, previous?: Record<string, unknown>) {
    if (isSilent) return
    const event: FakeEvent = {
      id: objects.createId('evt'),
      object: 'event',
      api_version: PINNED_VERSION,
      created: timeline.now(),
      data: {
        object: copy(object),
        ...(previous === undefined ? {} : { previous_attributes: previous }),
      },
      livemode: objects.isLive(object.id),
      pending_webhooks: 0,
      request: { id: null, idempotency_key: null },
      type,
    }
    all.push(event)
    for (const listener of listeners) listener(event)
  }

  /** Changes an object, and emits `type` if that made a difference. */
  function update(type: FakeEvent['type'], object: StripeObject, change: () => void) {
    if (isSilent) return change()
    const before = new Map(Object.entries(copy(object)))
    change()
    const changed = Object.entries(copy(object))
      .filter(([name, value]) => !Bun.deepEquals(before.get(name), value, true))
      .map(([name]) => [name, before.get(name) ?? null])
    if (changed.length > 0) emit(type, object, Object.fromEntries(changed))
  }

  /** Runs `act` without emitting events, for a world with very many objects. */
  function silence<T>(act: () => T): T {
    isSilent = true
    try {
      return act()
    } finally {
      isSilent = false
    }
  }

  function listen(listener: (event: FakeEvent) => void) {
    listeners.push(listener)
  }

  /** The events that Stripe still has, oldest first. */
  function listRetained(isLive: boolean): FakeEvent[] {
    const oldest = timeline.now() - RETENTION
    return all.filter(({ livemode, created }) => livemode === isLive && created >= oldest)
  }
}

/** A copy as it is sent, in which decimals are strings. */
export function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
