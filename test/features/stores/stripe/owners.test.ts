import { expect, test } from 'bun:test'
import { listSubscriptions } from '../../../support/app-store/world.ts'
import { deliver } from '../../../support/billing.ts'
import {
  createTestInstances,
  mapConcurrently,
  testInstances,
  times,
} from '../../../support/instances.ts'
import { startStripe } from '../../../support/stripe/stripe.ts'
import { createStripeWorld, SHOP } from '../../../support/stripe/world.ts'

test('a merged user keeps the purchases of both customers', async () => {
  await using world = await createStripeWorld()
  const { app, stripe, prices, userId } = world
  await world.buy('pro')
  const guest = (await app.ask('POST', '/api/auth/guest/v1', { json: {} })).json.response
  const metadata = {
    homeport_user: guest.user._id,
    homeport_server: (await app.services.stores.stripe?.status.read())?.serverId ?? '',
  }
  stripe.subscribe({ price: prices.team, metadata })
  await world.drain()
  const { stripeUserData } = app.services.stores
  const { merging } = stripeUserData.stripeCustomers
  await app.services.db.write((tx) => merging(tx, guest.user._id, userId))
  const { customers } = app.services.stores.stripe ?? {}
  const known = await customers?.list(app.services.db.read, userId, 'PRODUCTION')
  expect(known?.map(({ isCurrent }) => isCurrent).toSorted()).toEqual([false, true])
  expect((await world.checkOut('team')).json.code).toBe('already_subscribed')
})

test('the billing provider and Stripe report one purchase', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  const now = world.app.clock.now.getTime()
  await deliver(world.app, {
    event: {
      id: 'rc1',
      type: 'INITIAL_PURCHASE',
      app_user_id: world.userId,
      store: 'STRIPE',
      product_id: bought.item().price.product,
      entitlement_ids: ['pro'],
      original_transaction_id: bought.item().id,
      transaction_id: bought.currentInvoice().id,
      event_timestamp_ms: now,
      purchased_at_ms: now - 3_000,
      expiration_at_ms: bought.periodEnd() * 1000,
      price: 9.99,
    },
  })
  expect(await world.list()).toMatchObject([{ status: 'active', willRenew: true }])
  // The provider's report no longer counts after Stripe could not collect the payment.
  bought.failToRenew()
  bought.exhaustRetries()
  await world.drain()
  expect(await world.list()).toMatchObject([{ active: false }])
})

test('a verified address reaches Stripe when the portal opens', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  const { email } = await world.app.services.users.directory.find(world.userId)
  await world.app.verifyEmail(email ?? '')
  await world.ask('/api/user/billing_portal/v1', { returnUrl: SHOP })
  expect(world.stripe.customer(bought.customer)).toMatchObject({ email })
})

test('counts users who pay twice for a product, until one of the subscriptions has ended', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  const { problems, status } = world.app.services.stores.stripe ?? {}
  expect(await problems?.countDoubled()).toBe(0)
  const metadata = {
    homeport_user: world.userId,
    homeport_server: (await status?.read())?.serverId ?? '',
  }
  world.stripe.subscribe({ price: world.prices.team, metadata })
  await world.drain()
  expect(await problems?.countDoubled()).toBe(0)
  world.stripe.subscribe({ price: world.prices.pro, metadata })
  await world.drain()
  expect(await problems?.countDoubled()).toBe(1)
  bought.cancel()
  await world.drain()
  expect(await problems?.countDoubled()).toBe(0)
})

test('counts refunded subscriptions that continue, until they are cancelled', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  const { problems } = world.app.services.stores.stripe ?? {}
  bought.refund({ amount: 100 })
  await world.drain()
  expect(await problems?.countRefunded()).toBe(0)
  bought.refund()
  await world.drain()
  expect(await problems?.countRefunded()).toBe(1)
  bought.cancelAt()
  await world.drain()
  expect(await problems?.countRefunded()).toBe(0)
})

testInstances(
  'two instances query Stripe about each subscription one at a time',
  async () => {
    const clock = { now: new Date(), advance() {} }
    await using stripe = startStripe({ clock })
    await using instances = await createTestInstances(stripe.environment)
    const { here, there } = instances
    const { user } = await here.register()
    const { serverId } = (await here.services.stores.stripe?.status.read()) ?? {}
    const metadata = { homeport_user: user._id, homeport_server: serverId ?? '' }
    const bought = times(30).map(() => stripe.subscribe({ metadata }))
    stripe.api.delayMs = 20
    await mapConcurrently(
      [here, there],
      (app) => app.services.stores.stripe?.catchUpAll('PRODUCTION') ?? Promise.resolve(0),
    )
    instances.clock.advance(3_000)
    stripe.api.requests.length = 0
    const drain = () =>
      Promise.all([here, there].map((app) => app.services.stores.stripe?.queue.flush()))
    await drain()
    await drain()
    const asked = stripe.api.requests.map(({ request }) => request).toSorted()
    expect(asked).toEqual(bought.map(({ id }) => `GET /v1/subscriptions/${id}`).toSorted())
    expect((await listSubscriptions(there, user._id)).length).toBe(30)
  },
  60_000,
)
