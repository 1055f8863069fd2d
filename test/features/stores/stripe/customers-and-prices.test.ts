import { expect, test } from 'bun:test'
import { publishPlans } from '../../../support/plans.ts'
import { connect } from '../../../support/stripe/library.ts'
import { createStripeWorld, plan, SHOP, type StripeWorld } from '../../../support/stripe/world.ts'

/** Stores a customer that Stripe does not have, such as one of an emptied sandbox. */
async function storeUnknownCustomer({ app, userId }: StripeWorld, isCurrent: boolean) {
  const { db } = app.services
  const id = `cus_unknown_${isCurrent}`
  const row = { id, environment: 'PRODUCTION', userId, isCurrent, emailHash: null }
  await db.write((tx) => tx.insert(db.tables.stripeCustomers).values(row))
}

function openPortal({ ask }: StripeWorld) {
  return ask('/api/user/billing_portal/v1', { returnUrl: SHOP })
}

test('a plan is sold in the sandbox at a sandbox price among its other products', async () => {
  await using world = await createStripeWorld()
  const { id } = world.stripe.createPrice({ amount: 999 }, false)
  await publishPlans(world.app, [plan('pro', world.prices.pro.id, { otherProductIds: [id] })])
  await world.buy('pro', { environment: 'sandbox' })
  const path = '/api/user/subscription/v1?environment=sandbox'
  const { json } = await world.app.ask('GET', path, { token: world.token })
  expect(json.response).toMatchObject({
    entitlements: [{ id: 'pro', active: true }],
    plan: { code: 'pro' },
  })
})

test('a deleted user is not told to cancel what Homeport cancels at Stripe', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  const { json } = await world.app.ask('DELETE', '/api/user/profile/v1', { token: world.token })
  expect(json).toEqual({
    code: 'ok',
    message: 'The account and everything in it have been deleted.',
  })
  await world.drain()
  expect(bought.status()).toBe('canceled')
})

test('tells a deleted user to cancel only the subscription from a payment link', async () => {
  await using world = await createStripeWorld()
  const ended = await world.buy()
  const { id } = await connect(world.stripe).checkout.sessions.create({
    mode: 'subscription',
    line_items: [{ price: world.prices.team.id, quantity: 1 }],
    client_reference_id: world.userId,
    success_url: SHOP,
  })
  const kept = world.stripe.completeCheckout(id)
  await world.drain()
  const token = await world.freshToken()
  const { json } = await world.app.ask('DELETE', '/api/user/profile/v1', { token })
  expect(json.activeSubscriptions).toMatchObject([{ productId: world.prices.team.product }])
  await world.drain()
  expect([ended.status(), kept?.status()]).toEqual(['canceled', 'active'])
})

test.each([false, true])(
  'a user whose customer is unknown to Stripe gets one new customer (verified address: %p)',
  async (isVerified) => {
    await using world = await createStripeWorld()
    const { email } = await world.app.services.users.directory.find(world.userId)
    if (isVerified) await world.app.verifyEmail(email ?? '')
    await storeUnknownCustomer(world, true)
    for (const code of ['pro', 'team']) expect((await world.checkOut(code)).status).toBe(200)
    const created = world.stripe.api.requests.filter(
      ({ request }) => request === 'POST /v1/customers',
    )
    expect(created).toHaveLength(1)
    const bought = await world.buy()
    expect(world.stripe.customer(bought.customer).email).toBe(isVerified ? email : null)
    expect((await world.checkOut()).json.code).toBe('already_subscribed')
  },
)

test('the portal opens if Stripe does not know one of the customers of the user', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  await storeUnknownCustomer(world, false)
  bought.cancel()
  await world.drain()
  expect((await openPortal(world)).status).toBe(200)
})

test('the portal of a user whose only customer is unknown to Stripe is not found', async () => {
  await using world = await createStripeWorld()
  await storeUnknownCustomer(world, true)
  const { status, json } = await openPortal(world)
  expect([status, json.message]).toEqual([404, 'The customer no longer exists at Stripe.'])
})
