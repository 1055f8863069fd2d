import { expect, test } from 'bun:test'
import type Stripe from 'stripe'
import { createLibraryWorld } from '../../../support/stripe/library.ts'

const MONTH_AND_HOURS = 31 * 86_400_000 + 2 * 3_600_000

test('a customer buys, the subscription renews, and the library reads all of it', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const session = await world.openSession()
  expect([session.status, session.payment_status]).toEqual(['open', 'unpaid'])
  fake.completeCheckout(session.id)
  const paid = await client.checkout.sessions.retrieve(session.id, {
    expand: ['line_items', 'subscription', 'customer'],
  })
  expect([paid.status, paid.payment_status]).toEqual(['complete', 'paid'])
  expect(paid.line_items?.data[0]?.price?.nickname).toBe('Pro')
  const { id, metadata } = paid.subscription as Stripe.Subscription
  expect(metadata).toEqual({ homeport_user: 'user-1' })
  fake.advance(MONTH_AND_HOURS)
  const subscription = await client.subscriptions.retrieve(id, {
    expand: ['latest_invoice.payments'],
  })
  const [item] = subscription.items.data
  expect(subscription.status).toBe('active')
  expect([day(item?.current_period_start), day(item?.current_period_end)]).toEqual([
    '2026-11-01',
    '2026-12-01',
  ])
  expect(subscription).not.toHaveProperty('current_period_end')
  const invoice = subscription.latest_invoice as Stripe.Invoice
  expect([invoice.status, invoice.amount_paid, invoice.billing_reason]).toEqual([
    'paid',
    999,
    'subscription_cycle',
  ])
  expect(invoice.payments?.data[0]?.status).toBe('paid')
})

test('renewals keep their day, or use the last day of shorter months', async () => {
  await using world = createLibraryWorld()
  const { fake, clock } = world
  clock.now = new Date('2027-01-31T12:00:00Z')
  const subscription = fake.subscribe()
  const ends = [day(subscription.periodEnd())]
  for (let month = 1; month < 3; month++) {
    subscription.renew()
    ends.push(day(subscription.periodEnd()))
  }
  expect(ends).toEqual(['2027-02-28', '2027-03-31', '2027-04-30'])
})

test('deleting a customer cancels its subscriptions immediately and leaves only the id', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const subscription = fake.subscribe()
  const { customer } = subscription
  expect(await client.customers.del(customer)).toMatchObject({ id: customer, deleted: true })
  expect(await client.customers.retrieve(customer)).toMatchObject({ deleted: true })
  const { data } = await client.subscriptions.list({ customer, status: 'all' })
  expect(data.map(({ status }) => status)).toEqual(['canceled'])
  await expect(client.customers.update(customer, { name: 'Ann' })).rejects.toMatchObject({
    code: 'resource_missing',
  })
})

test('cancelling at the end of the period sets only cancel_at in flexible mode', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  for (const isFlexible of [true, false]) {
    const { id, renew, periodEnd, status } = fake.subscribe({ isFlexible })
    const cancelled = await client.subscriptions.update(id, { cancel_at_period_end: true })
    expect([cancelled.cancel_at_period_end, cancelled.cancel_at]).toEqual([
      !isFlexible,
      periodEnd(),
    ])
    const undone = await client.subscriptions.update(id, { cancel_at_period_end: false })
    expect([undone.cancel_at_period_end, undone.cancel_at]).toEqual([false, null])
    await client.subscriptions.update(id, { cancel_at_period_end: true })
    renew()
    expect(status()).toBe('canceled')
    await expect(client.subscriptions.cancel(id)).rejects.toMatchObject({ statusCode: 404 })
  }
})

test('lists are paged from the newest to the oldest', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const ids = Array.from({ length: 5 }, () => fake.subscribe().id)
  const listed: string[] = []
  for await (const { id } of client.subscriptions.list({ limit: 2 })) listed.push(id)
  expect(listed).toEqual(ids.toReversed())
  const { data } = await client.subscriptions.list({ limit: 2, ending_before: ids[1] ?? '' })
  expect(data.map(({ id }) => id)).toEqual([ids[3] ?? '', ids[2] ?? ''])
})

test('events are listed by type and time for 30 days', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  fake.subscribe()
  const since = fake.now() + 1
  fake.advance(20 * 86_400_000)
  fake.subscribe().cancel()
  const types = ['customer.subscription.created', 'customer.subscription.deleted']
  const list = async (created?: { gte: number }) =>
    (await client.events.list({ types, ...(created ? { created } : {}) })).data.map(
      ({ type }) => type,
    )
  expect(await list()).toEqual([types[1], types[0], types[0]] as never)
  expect(await list({ gte: since })).toEqual([types[1], types[0]] as never)
  fake.advance(15 * 86_400_000)
  expect(await list()).toEqual([types[1], types[0]] as never)
})

function day(seconds = 0): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10)
}
