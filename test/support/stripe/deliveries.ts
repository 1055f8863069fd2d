import { createHmac } from 'node:crypto'
import type Stripe from 'stripe'
import type { seededRandom } from '../../soak/stores/random.ts'
import type { Core } from './core.ts'
import { EVENT_TYPES, type FakeEvent, PINNED_VERSION } from './events.ts'
import { createEndpointObject } from './objects/endpoint.ts'
import { bodyOfEvent, type EventShape, OLD_VERSION } from './shapes.ts'

/** Sends one request, and returns the status of the response. */
export type Send = (url: string, body: string, headers: Record<string, string>) => Promise<number>

/**
 * The probabilities, from 0 to 1, that a delivery is lost, late or duplicated. `shuffled`: deliveries arrive in any
 * order.
 */
export type Probabilities = { lost: number; late: number; duplicated: number; shuffled: boolean }

type EndpointOptions = {
  url: string
  isLive?: boolean
  secret?: string
  shape?: EventShape
  types?: string[]
}
type Endpoint = {
  object: Stripe.WebhookEndpoint
  /** During a rotation there are two, and both sign. */
  secrets: string[]
  shape: EventShape
}
type Delivery = {
  event: FakeEvent
  endpoint: Endpoint
  at: number
  attempts: number
  /** The status of the last attempt; 0 if there was no response. */
  status: number | null
}
export type Deliveries = ReturnType<typeof createDeliveries>

const RETRY_WINDOW_SECONDS = 3 * 86_400
const FIRST_RETRY_DELAY_SECONDS = 60
const MAX_RETRY_DELAY_SECONDS = 12 * 3600

/** Delivers events to webhook endpoints: each is retried for up to three days until an attempt succeeds. */
export function createDeliveries(
  { objects, timeline, events }: Core,
  random: ReturnType<typeof seededRandom>,
  probabilities: Probabilities,
) {
  const endpoints: Endpoint[] = []
  let waiting: Delivery[] = []
  const settings = {
    send: sendByHttp as Send,
    /** The time in signatures, in seconds. */
    time: timeline.now,
  }
  const sent: Delivery[] = []
  events.listen(enqueue)
  return Object.assign(settings, {
    probabilities,
    endpoints,
    sent,
    addEndpoint,
    addSecret,
    deliver,
    deliverOne,
    pending,
    requestOf,
    signature,
  })

  function addEndpoint({ url, isLive = true, secret, shape = 'pinned', types }: EndpointOptions) {
    const made = { id: objects.createId('we'), created: timeline.now(), livemode: isLive }
    const version = shape === 'old' ? OLD_VERSION : PINNED_VERSION
    const object = createEndpointObject(made, url, version, types ?? [...EVENT_TYPES])
    objects.add('webhook_endpoint', object, isLive)
    const endpoint = { object, secrets: [secret ?? objects.createId('whsec', 32)], shape }
    endpoints.push(endpoint)
    return endpoint
  }

  /** Starts a rotation: adds a secret, and keeps the old ones. */
  function addSecret(endpoint: Endpoint): string {
    const secret = objects.createId('whsec', 32)
    endpoint.secrets.unshift(secret)
    return secret
  }

  function enqueue(event: FakeEvent) {
    for (const endpoint of endpoints) {
      const { livemode, enabled_events, status } = endpoint.object
      const isWanted = enabled_events.includes(event.type) || enabled_events.includes('*')
      if (livemode !== event.livemode || !isWanted || status !== 'enabled') continue
      event.pending_webhooks++
      if (random.chance(probabilities.lost)) continue
      for (let copies = random.chance(probabilities.duplicated) ? 2 : 1; copies > 0; copies--) {
        const delay = random.chance(probabilities.late) ? random.upTo(12 * 3600) : 0
        const at = timeline.now() + delay
        waiting.push({ event, endpoint, at, attempts: 0, status: null })
      }
    }
  }

  /** Makes the deliveries that are due, one after another. */
  async function deliver(send?: Send): Promise<Delivery[]> {
    timeline.runDue()
    const now = timeline.now()
    const due = waiting.filter(({ at }) => at <= now)
    waiting = waiting.filter(({ at }) => at > now)
    if (probabilities.shuffled) shuffle(due)
    for (const delivery of due) await attempt(delivery, send)
    return due
  }

  /** Delivers an event now, regardless of its schedule. Returns whether an endpoint accepted it. */
  async function deliverOne(event: FakeEvent): Promise<boolean> {
    const own = waiting.filter((delivery) => delivery.event === event)
    waiting = waiting.filter((delivery) => delivery.event !== event)
    for (const delivery of own) await attempt(delivery)
    return own.some(({ status }) => isSuccess(status))
  }

  async function attempt(delivery: Delivery, send = settings.send) {
    const { event, endpoint } = delivery
    const { body, headers } = requestOf(event, endpoint)
    delivery.attempts++
    delivery.status = await send(endpoint.object.url, body, headers).catch(() => 0)
    sent.push({ ...delivery })
    if (isSuccess(delivery.status)) {
      event.pending_webhooks = Math.max(0, event.pending_webhooks - 1)
      return
    }
    const delay = Math.min(
      FIRST_RETRY_DELAY_SECONDS * 4 ** (delivery.attempts - 1),
      MAX_RETRY_DELAY_SECONDS,
    )
    delivery.at = timeline.now() + delay
    if (delivery.at <= event.created + RETRY_WINDOW_SECONDS) waiting.push(delivery)
  }

  /** The request that delivers an event, signed now. */
  function requestOf(event: FakeEvent, endpoint: Endpoint, shape = endpoint.shape) {
    const body = JSON.stringify(bodyOfEvent(event, shape))
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'stripe-signature': signature(body, endpoint.secrets),
      'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
    }
    return { body, headers }
  }

  function signature(body: string, secrets: string[], time = settings.time()): string {
    const signed = secrets.map((secret) => {
      const mac = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
      return `v1=${mac}`
    })
    return [`t=${time}`, ...signed, `v0=${'0'.repeat(64)}`].join(',')
  }

  /** The deliveries that have not succeeded yet, earliest first. */
  function pending(): Delivery[] {
    return waiting.toSorted((a, b) => a.at - b.at)
  }

  function shuffle(list: Delivery[]) {
    for (let at = list.length - 1; at > 0; at--) {
      const other = random.upTo(at + 1)
      const [one, two] = [list[at], list[other]]
      if (one && two) [list[at], list[other]] = [two, one]
    }
  }
}

function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300
}

async function sendByHttp(url: string, body: string, headers: Record<string, string>) {
  const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual' })
  await response.arrayBuffer()
  return response.status
}
