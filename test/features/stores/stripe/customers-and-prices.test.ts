import { expect, test } from 'bun:test'
import { publishPlans } from '../../../support/plans.ts'
import { createStripeWorld, plan } from '../../../support/stripe/world.ts'

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
