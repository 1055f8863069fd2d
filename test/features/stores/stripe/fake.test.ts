import { expect, test } from 'bun:test'
import Stripe from 'stripe'
import { createClock } from '../../../support/app.ts'
import { type FakeStripe, startStripe } from '../../../support/stripe/stripe.ts'

const DAY_MS = 86_400_000
const MONTH_AND_HOUR = 31 * DAY_MS + 2 * 3_600_000

function createWorld(options: Partial<Parameters<typeof startStripe>[0]> = {}) {
  const clock = createClock()
  clock.now = new Date('2026-10-01T12:00:00Z')
  const fake = startStripe({ clock, ...options })
  return { clock, fake, client: clientOf(fake), [Symbol.asyncDispose]: fake[Symbol.asyncDispose] }
}

/** Stripe's own library, as an app uses it. */
function clientOf(fake: FakeStripe, key = fake.keys.live.restricted) {
  const { hostname, port } = new URL(fake.url)
  return new Stripe(key, { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 })
}

async function buy(client: Stripe, fake: FakeStripe, trialDays?: number) {
  const price = fake.createPrice({ nickname: 'Pro' })
  const customer = await client.customers.create({
    email: 'ann@example.com',
    metadata: { homeport_user: 'u1' },
  })
  const session = await client.checkout.sessions.create({
    mode: 'subscription',
    customer: customer.id,
    line_items: [{ price: price.id, quantity: 1 }],
    client_reference_id: 'u1',
    subscription_data: {
      metadata: { homeport_user: 'u1' },
      billing_mode: { type: 'flexible' },
      ...(trialDays === undefined ? {} : { trial_period_days: trialDays }),
    },
    success_url: 'https://app.example.com/done?session_id={CHECKOUT_SESSION_ID}',
    cancel_url: 'https://app.example.com/plans',
  })
  return { price, customer, session }
}

test('a customer buys, the subscription renews, and the library reads all of it', async () => {
  await using world = createWorld()
  const { fake, client } = world
  const { customer, session, price } = await buy(client, fake)
  expect([session.status, session.payment_status]).toEqual(['open', 'unpaid'])
  fake.completeCheckout(session.id)
  const paid = await client.checkout.sessions.retrieve(session.id, {
    expand: ['line_items', 'subscription'],
  })
  expect([paid.status, paid.payment_status, paid.line_items?.data[0]?.price?.id]).toEqual([
    'complete',
    'paid',
    price.id,
  ])
  const { id } = paid.subscription as Stripe.Subscription
  fake.advance(MONTH_AND_HOUR)
  const subscription = await client.subscriptions.retrieve(id, {
    expand: ['latest_invoice.payments'],
  })
  expect(subscription.status).toBe('active')
  const [item] = subscription.items.data
  const iso = (seconds = 0) => new Date(seconds * 1000).toISOString()
  expect([iso(item?.current_period_start), iso(item?.current_period_end)]).toEqual([
    '2026-11-01T12:00:00.000Z',
    '2026-12-01T12:00:00.000Z',
  ])
  expect(subscription).not.toHaveProperty('current_period_end')
  const invoice = subscription.latest_invoice as Stripe.Invoice
  expect([invoice.status, invoice.amount_paid, invoice.billing_reason]).toEqual([
    'paid',
    999,
    'subscription_cycle',
  ])
  expect(invoice.payments?.data[0]?.status).toBe('paid')
  const { data } = await client.subscriptions.list({ customer: customer.id, status: 'all' })
  expect(data.map((one) => one.id)).toEqual([id])
})

test('a renewal is a draft for an hour, fails, is retried, and ends as the account decides', async () => {
  for (const afterRetries of ['cancel', 'unpaid', 'past_due', 'pause'] as const) {
    await using world = createWorld({ account: { afterRetries, retryDays: [3, 5] } })
    const { fake } = world
    const subscription = fake.subscribe()
    subscription.setCard('declines')
    fake.advanceTo(subscription.periodEnd())
    expect([subscription.status(), subscription.currentInvoice().status]).toEqual([
      'active',
      'draft',
    ])
    fake.advance(3_600_000)
    expect([subscription.status(), subscription.currentInvoice().status]).toEqual([
      'past_due',
      'open',
    ])
    subscription.exhaustRetries()
    const ends = { cancel: 'canceled', unpaid: 'unpaid', past_due: 'past_due', pause: 'paused' }
    expect(subscription.status()).toBe(ends[afterRetries])
    if (afterRetries === 'cancel') {
      expect(subscription.object.cancellation_details?.reason).toBe('payment_failed')
      continue
    }
    subscription.replaceCard()
    if (afterRetries !== 'pause') subscription.pay()
    else subscription.resume()
    expect(subscription.status()).toBe('active')
  }
})

test('deliveries are signed as the library expects, by each secret of a rotation', async () => {
  await using world = createWorld()
  const { fake, client } = world
  const received: { body: string; headers: Record<string, string> }[] = []
  fake.webhooks.send = async (_, body, headers) => {
    received.push({ body, headers })
    return 200
  }
  const old = fake.environment.STRIPE_WEBHOOK_SECRET
  const added = fake.webhooks.rotate(fake.endpoints.live)
  fake.subscribe()
  await fake.deliver()
  const types = []
  for (const { body, headers } of received) {
    for (const secret of [old, added]) {
      const signature = headers['stripe-signature'] ?? ''
      const at = world.clock.now.getTime() / 1000
      const { webhooks } = Stripe
      const event = await webhooks.constructEventAsync(body, signature, secret, 300, undefined, at)
      if (secret === old) types.push(event.type)
    }
  }
  expect(types).toEqual([
    'customer.subscription.created',
    'invoice.paid',
    'customer.subscription.updated',
  ])
  const listed = await client.events.list({ types: ['invoice.paid'], limit: 1 })
  expect(listed.data[0]?.data.object).toMatchObject({ object: 'invoice', status: 'paid' })
})

test('a repeated request gets the first reply, another body under its key is refused', async () => {
  await using world = createWorld()
  const { client } = world
  const create = (email: string) => client.customers.create({ email }, { idempotencyKey: 'k' })
  const first = await create('ann@example.com')
  expect((await create('ann@example.com')).id).toBe(first.id)
  await expect(create('bob@example.com')).rejects.toMatchObject({ rawType: 'idempotency_error' })
})
