import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { expectMatchingStates } from '../../../support/stripe/compare.ts'
import { createStripeWorld, type StripeWorld } from '../../../support/stripe/world.ts'
import { until } from '../../../support/until.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

function stripeOf({ app }: StripeWorld) {
  const { stripe } = app.services.stores
  if (stripe === null) throw new Error('Stripe is not set up')
  return stripe
}

function countReads({ stripe }: StripeWorld): number {
  return stripe.api.requests.filter(({ request }) => request.startsWith('GET /v1/subscriptions/'))
    .length
}

async function deleteUser({ app, freshToken }: StripeWorld) {
  const token = await freshToken()
  const reply = await app.ask('DELETE', '/api/user/profile/v1', {
    token,
    json: { password: 'correct horse battery' },
  })
  expect(reply.status).toBe(200)
}

test('finds changes within the hour even if their events never arrived', async () => {
  await using world = await createStripeWorld({ probabilities: { lost: 1 } })
  const { sessionId } = (await world.checkOut()).json.response
  world.stripe.completeCheckout(sessionId)
  await world.drain()
  expect(await world.list()).toEqual([])
  expect(await stripeOf(world).catchUp('PRODUCTION')).toBeGreaterThan(0)
  await world.drain()
  expect(await world.list()).toMatchObject([{ status: 'active' }])
})

test('after forty days without a connection, every subscription can be read again', async () => {
  await using world = await createStripeWorld({ probabilities: { lost: 1 } })
  const { sessionId } = (await world.checkOut()).json.response
  world.stripe.completeCheckout(sessionId)
  world.stripe.advance(40 * DAY)
  expect(await stripeOf(world).catchUpAll('PRODUCTION')).toBe(1)
  await world.drain()
  await expectMatchingStates(world)
})

test.each([
  ['is busy', { kind: 'error', status: 503 }],
  ['limits requests', { kind: 'error', status: 429 }],
  ['has a conflict', { kind: 'error', status: 409 }],
  ['is cut off', { kind: 'cut' }],
  ['sends 5 MB', { kind: 'oversized' }],
  ['sends an HTML page', { kind: 'not_json' }],
  ['redirects', { kind: 'redirect', location: 'http://127.0.0.1:1/' }],
] as const)('when Stripe %s, nothing is stored, and it is queried again', async (_name, fault) => {
  await using world = await createStripeWorld()
  world.app.expectErrors()
  const bought = await world.buy()
  bought.cancelAt()
  const before = await world.list()
  world.stripe.api.faults = [fault]
  await world.drain()
  expect(await world.list()).toEqual(before)
  await world.advance(11 * MINUTE)
  expect(await world.list()).toMatchObject([{ willRenew: false }])
})

test('while Stripe limits requests, the queue waits', async () => {
  await using world = await createStripeWorld()
  world.app.expectErrors()
  await world.buy()
  const bought = await world.buy('team', {}, (await world.app.register()).accessToken)
  bought.cancelAt()
  world.stripe.api.faults = [{ kind: 'error', status: 429 }]
  await world.drain()
  const asked = countReads(world)
  await world.drain()
  expect(countReads(world)).toBe(asked)
  await world.advance(11 * MINUTE)
  expect(countReads(world)).toBeGreaterThan(asked)
})

test('a rate limit in the sandbox does not delay production', async () => {
  await using world = await createStripeWorld()
  world.app.expectErrors()
  const bought = await world.buy()
  const price = world.stripe.createPrice({}, false)
  const inSandbox = world.stripe.subscribe({ price, isLive: false })
  await world.drain()
  inSandbox.cancelAt()
  const on = `GET /v1/subscriptions/${inSandbox.id}`
  world.stripe.api.faults = [{ kind: 'error', status: 429, on }]
  await world.drain()
  expect(world.stripe.api.faults).toEqual([])
  bought.cancelAt()
  await world.drain()
  expect(await world.list()).toMatchObject([{ willRenew: false }])
})

test('a key that Stripe refuses is reported, and access continues until its end', async () => {
  await using world = await createStripeWorld()
  world.app.expectErrors()
  const bought = await world.buy()
  bought.cancelAt()
  world.stripe.api.faults = [{ kind: 'error', status: 401 }]
  await world.drain()
  expect(stripeOf(world).api.isKeyRefused()).toBe(true)
  expect(await world.list()).toMatchObject([{ active: true }])
  await world.advance(11 * MINUTE)
  expect(stripeOf(world).api.isKeyRefused()).toBe(false)
  expect(await world.list()).toMatchObject([{ willRenew: false }])
})

test('an event that arrives during a request causes another request', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  const gate = Promise.withResolvers<void>()
  bought.cancelAt()
  await world.stripe.deliver()
  world.app.clock.advance(3_000)
  const asked = countReads(world)
  world.stripe.api.held = gate.promise
  stripeOf(world).queue.wake()
  await until(() => countReads(world) > asked, 'Stripe is not queried')
  bought.undoCancel()
  await world.stripe.deliver()
  gate.resolve()
  world.stripe.api.held = null
  await world.drain()
  expect(countReads(world)).toBe(asked + 2)
  expect(await world.list()).toMatchObject([{ willRenew: true }])
})

test('a later response counts even if the clock was ahead at an earlier one', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  world.app.clock.advance(DAY)
  bought.cancelAt()
  await world.drain()
  world.app.clock.advance(-DAY)
  bought.undoCancel()
  await stripeOf(world).catchUpAll('PRODUCTION')
  world.app.clock.advance(5_000)
  await stripeOf(world).queue.flush()
  expect(await world.list()).toMatchObject([{ willRenew: true }])
})

test('a deleted user is deleted at Stripe, even if Stripe was down', async () => {
  await using world = await createStripeWorld()
  world.app.expectErrors()
  const bought = await world.buy()
  world.stripe.api.isDown = true
  await deleteUser(world)
  await world.drain()
  expect(bought.status()).toBe('active')
  expect(await stripeOf(world).objects.countDeletions()).toBe(1)
  world.stripe.api.isDown = false
  await world.advance(20 * MINUTE)
  expect(bought.status()).toBe('canceled')
  await world.drain()
  const { stripeCustomers, stripeCheckouts, stripeObjects } = world.app.services.db.tables
  for (const table of [stripeCustomers, stripeCheckouts])
    expect(await world.app.services.db.read.select().from(table)).toEqual([])
  const objects = await world.app.services.db.read.select().from(stripeObjects)
  expect(objects).toMatchObject([{ id: bought.id, userId: null }])
})

test('the open page of a deleted user is closed', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut()).json.response
  await deleteUser(world)
  await world.drain()
  expect(world.stripe.session(sessionId).status).toBe('expired')
})

test('with "cancel", a deleted user’s customer stays at Stripe', async () => {
  await using world = await createStripeWorld({}, { STRIPE_ON_USER_DELETION: 'cancel' })
  const bought = await world.buy()
  await deleteUser(world)
  await world.drain()
  expect(bought.status()).toBe('canceled')
  const requests = world.stripe.api.requests.map(({ request }) => request)
  expect(requests.some((one) => one.startsWith('DELETE /v1/customers'))).toBe(false)
})

test('events about a deleted user name a pseudonym', async () => {
  await using world = await createStripeWorld({}, { STRIPE_ON_USER_DELETION: 'cancel' })
  await world.buy()
  await deleteUser(world)
  await world.advance(MINUTE)
  const { billingEvents } = world.app.services.db.tables
  const rows = await world.app.services.db.read.select().from(billingEvents)
  expect(JSON.stringify(rows.map(({ body }) => Buffer.from(body).toString()))).not.toContain(
    world.userId,
  )
})

test('a server with a restored backup finds its customers again', async () => {
  await using world = await createStripeWorld()
  await world.buy()
  const { db } = world.app.services
  const { stripeCustomers, stripeCheckouts, stripeObjects } = db.tables
  await db.write(async (tx) => {
    for (const table of [stripeCustomers, stripeCheckouts, stripeObjects]) await tx.delete(table)
  })
  await stripeOf(world).catchUp('PRODUCTION')
  await world.drain()
  expect(await db.read.select().from(stripeCustomers)).toMatchObject([{ userId: world.userId }])
  expect((await world.checkOut()).json.code).toBe('already_subscribed')
})

test('the subscriptions of another server are not recorded', async () => {
  await using world = await createStripeWorld()
  const metadata = { homeport_user: world.userId, homeport_server: 'another' }
  const bought = world.stripe.subscribe({ price: world.prices.pro, metadata })
  world.stripe.subscribe({})
  await world.drain()
  bought.renew()
  await world.drain()
  expect(await world.list()).toEqual([])
})

test('a plan that was bought without this server belongs to no user', async () => {
  await using world = await createStripeWorld()
  world.stripe.subscribe({ price: world.prices.pro, fields: { email: 'ann@example.com' } })
  await world.drain()
  expect(await world.list()).toEqual([])
  await expectMatchingStates(world)
})

test('personal data of a customer is not stored', async () => {
  await using world = await createStripeWorld()
  world.stripe.subscribe({
    price: world.prices.pro,
    fields: { email: 'secret@example.com', name: 'Secret Name' },
  })
  await world.drain()
  const { billingEvents } = world.app.services.db.tables
  const rows = await world.app.services.db.read.select().from(billingEvents)
  const texts = rows.map(({ body }) => Buffer.from(body).toString()).join()
  expect(texts).toContain('sub_')
  expect(texts).not.toMatch(/secret/i)
})

test.each([
  ['JPY', 500, { currency: 'JPY', amount: 500_000 }],
  ['KWD', 1_500, { currency: 'KWD', amount: 1_500 }],
  ['ISK', 50_000, { currency: 'ISK', amount: 500_000 }],
  ['USD', 999, { currency: 'USD', amount: 9_990 }],
])('reads amounts in %s', async (currency, amount, paid) => {
  await using world = await createStripeWorld()
  const price = world.stripe.createPrice({ amount, currency: currency.toLowerCase() })
  const { serverId } = await stripeOf(world).status.read()
  const metadata = { homeport_user: world.userId, homeport_server: serverId }
  world.stripe.subscribe({ price, metadata })
  await world.drain()
  const { billingEvents } = world.app.services.db.tables
  const rows = await world.app.services.db.read
    .select()
    .from(billingEvents)
    .where(eq(billingEvents.type, 'INITIAL_PURCHASE'))
  const { eventLog } = world.app.services
  expect(rows.map(({ provider, body }) => eventLog.readEvent(provider, body)?.paid)).toEqual([paid])
})
