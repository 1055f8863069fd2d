import { expect, test } from 'bun:test'
import Stripe from 'stripe'
import type { Probabilities } from '../../../support/stripe/deliveries.ts'
import { createLibraryWorld } from '../../../support/stripe/library.ts'

const HOUR_MS = 3_600_000

test('deliveries are signed as the library expects, with each secret of a rotation', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const old = fake.environment.STRIPE_WEBHOOK_SECRET
  const added = fake.webhooks.addSecret(fake.endpoints.live)
  fake.subscribe()
  const types: string[] = []
  await fake.deliver(async (_, body, headers) => {
    for (const secret of [old, added]) {
      const signature = headers['stripe-signature'] ?? ''
      const { webhooks } = Stripe
      const at = fake.now()
      const event = await webhooks.constructEventAsync(body, signature, secret, 300, undefined, at)
      if (secret === old) types.push(event.type)
    }
    return 200
  })
  expect(types).toEqual([
    'customer.subscription.created',
    'invoice.paid',
    'customer.subscription.updated',
  ])
})

test('events arrive in the shape of the pinned version, of an older one, or as ids only', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const subscription = fake.subscribe()
  const { live } = fake.endpoints
  const event = fake.events.all.findLast(({ type }) => type === 'invoice.paid')
  if (!event) throw new Error('nothing was paid')
  const bodyIn = (shape: 'pinned' | 'old' | 'thin') =>
    JSON.parse(fake.webhooks.requestOf(event, live, shape).body)
  expect(bodyIn('pinned').data.object).toMatchObject({
    parent: { subscription_details: { subscription: subscription.id } },
  })
  expect(bodyIn('pinned').data.object).not.toHaveProperty('subscription')
  expect(bodyIn('old')).toMatchObject({
    api_version: '2024-06-20',
    data: { object: { subscription: subscription.id } },
  })
  const { body, headers } = fake.webhooks.requestOf(event, live, 'thin')
  const signature = headers['stripe-signature'] ?? ''
  const secret = live.secrets[0] ?? ''
  const thin = await client.parseEventNotificationAsync(
    body,
    signature,
    secret,
    undefined,
    undefined,
    fake.now(),
  )
  expect(thin).toMatchObject({
    type: 'v1.invoice.paid',
    related_object: { id: event.data.object.id, type: 'invoice' },
  })
})

test('a delivery is retried for three days until an attempt succeeds', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  fake.subscribe().cancel()
  let attempts = 0
  const refuse = async () => {
    attempts++
    return 503
  }
  for (let hour = 0; hour < 100; hour++) {
    await fake.deliver(refuse)
    fake.advance(HOUR_MS)
  }
  expect(fake.webhooks.pending()).toEqual([])
  expect(attempts).toBeGreaterThan(4 * 8)
  expect(fake.webhooks.sent.every(({ event, at }) => at - event.created <= 4 * 86_400)).toBe(true)
})

test('deliveries are lost, late, duplicated or shuffled, and the same for the same seed', async () => {
  const all = await deliverAll({ lost: 0.3, late: 0.3, duplicated: 0.3, shuffled: true })
  expect(await deliverAll({ lost: 0.3, late: 0.3, duplicated: 0.3, shuffled: true })).toEqual(all)
  const events = (await deliverAll({})).order
  const lossy = await deliverAll({ lost: 0.3 })
  expect(lossy.order).toEqual(events.filter((id) => lossy.order.includes(id)))
  expect(lossy.order.length).toBeLessThan(events.length)
  const duplicated = await deliverAll({ duplicated: 0.3 })
  expect(duplicated.order.length).toBeGreaterThan(events.length)
  expect([...new Set(duplicated.order)]).toEqual(events)
  const late = await deliverAll({ late: 0.3 })
  expect(late.immediate).toBeLessThan(events.length)
  expect(late.order.toSorted()).toEqual(events.toSorted())
  const shuffled = await deliverAll({ shuffled: true })
  expect(shuffled.order).not.toEqual(events)
  expect(shuffled.order.toSorted()).toEqual(events.toSorted())
})

/** The ids of the events in the order in which they arrive within a day, and how many arrive immediately. */
async function deliverAll(probabilities: Partial<Probabilities>) {
  await using world = createLibraryWorld({ probabilities })
  const { fake } = world
  for (let count = 0; count < 20; count++) fake.subscribe()
  const order: string[] = []
  const take = async (_: string, body: string) => {
    order.push(JSON.parse(body).id)
    return 200
  }
  await fake.deliver(take)
  const immediate = order.length
  for (let hour = 0; hour < 24; hour++) {
    fake.advance(HOUR_MS)
    await fake.deliver(take)
  }
  return { order, immediate }
}
