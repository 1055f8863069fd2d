import { WEBHOOK_TOKEN } from '../support/app.ts'
import type { Client } from './client.ts'
import type { User, Users } from './users.ts'

export type Billing = ReturnType<typeof createBilling>

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const TYPES = ['RENEWAL', 'RENEWAL', 'CANCELLATION', 'UNCANCELLATION', 'BILLING_ISSUE']

/**
 * The billing provider: delivers each event until it is acknowledged. `events` holds the ids of the
 * acknowledged events.
 */
export function createBilling(client: Client, users: Users) {
  const { problems, askWithRetries } = client
  const events = new Set<string>()
  // Long ago, so that no event is in the future of a clock that is behind.
  const start = Date.now() - 100 * DAY
  let lastEvent: ReturnType<typeof eventOf> | null = null
  let isUp = Promise.withResolvers<void>()
  isUp.resolve()
  return { events, deliver, deliverSwapped, repeat, readSubscription, goDown, goUp, waitUntilUp }

  async function deliver(user: User) {
    const event = eventOf(user)
    await send(event)
    apply(user, event)
  }

  /** Delivers two events, the later one first. */
  async function deliverSwapped(user: User) {
    const first = eventOf(user)
    apply(user, first)
    const second = eventOf(user)
    await send(second)
    await send(first)
    apply(user, second)
  }

  /** Delivers an acknowledged event again. */
  async function repeat() {
    if (!lastEvent) return
    const { code } = await post(lastEvent)
    if (code !== 'duplicate')
      problems.push(`${lastEvent.id} was delivered twice, but the second delivery got ${code}`)
  }

  async function readSubscription(user: User) {
    const path = '/api/user/subscription/v1'
    const reply = await users.askAs(user, { method: 'GET', path })
    if (!users.succeeded(reply, 'a subscription')) return
    const [purchase] = reply.json.response.subscriptions
    const found = purchase ? [Date.parse(purchase.expiresAt), purchase.willRenew] : [null, false]
    const { expiresAt, willRenew, events } = user.purchase
    if (found[0] !== expiresAt || found[1] !== willRenew)
      problems.push(
        `${user.email} has ${found}, expected ${expiresAt},${willRenew} after ${events} events`,
      )
  }

  /** Makes deliveries wait until `goUp` is called. */
  function goDown() {
    isUp = Promise.withResolvers()
  }

  function goUp() {
    isUp.resolve()
  }

  function waitUntilUp() {
    return isUp.promise
  }

  async function send(event: ReturnType<typeof eventOf>) {
    const { code, isRepeated } = await post(event)
    // The client gave up, and `post` has reported that.
    if (code === undefined) return
    if (code === 'duplicate' && !isRepeated)
      problems.push(`${event.id} is new, but was reported as a duplicate`)
    if (events.has(event.id)) problems.push(`${event.id} was sent twice by this program`)
    events.add(event.id)
    users.expectedWebhooks.add(`subscription.changed ${event.app_user_id}`)
    lastEvent = event
  }

  async function post(event: object) {
    const path = '/api/webhooks/billing/v1'
    const reply = await askWithRetries({
      method: 'POST',
      path,
      token: WEBHOOK_TOKEN,
      json: { event },
    })
    users.succeeded(reply, 'a delivery')
    return { code: reply.json?.code as string, isRepeated: reply.isRepeated }
  }

  function eventOf({ id, purchase }: User) {
    const at = start + purchase.events * MINUTE
    const type = purchase.events === 0 ? 'INITIAL_PURCHASE' : TYPES[purchase.events % TYPES.length]
    const isPaid = type === 'INITIAL_PURCHASE' || type === 'RENEWAL'
    return {
      id: `${id}-${purchase.events}`,
      type,
      event_timestamp_ms: at,
      app_user_id: id,
      product_id: 'prod_example_pro',
      entitlement_ids: ['pro'],
      period_type: 'NORMAL',
      environment: 'PRODUCTION',
      store: 'APP_STORE',
      original_transaction_id: `transaction-${id}`,
      transaction_id: `transaction-${id}-${purchase.events}`,
      purchased_at_ms: at,
      expiration_at_ms: isPaid ? at + 200 * DAY : purchase.expiresAt,
      price: 9.99,
      currency: 'USD',
      ...(type === 'CANCELLATION' ? { cancel_reason: 'UNSUBSCRIBE' } : {}),
    }
  }

  function apply(
    { purchase }: User,
    { type, expiration_at_ms: expiresAt }: ReturnType<typeof eventOf>,
  ) {
    purchase.events++
    purchase.expiresAt = expiresAt
    if (type !== 'BILLING_ISSUE') purchase.willRenew = type !== 'CANCELLATION'
  }
}
