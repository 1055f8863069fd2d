import { expect, test } from 'bun:test'
import { createStripeWorld } from '../../../support/stripe/world.ts'

test('a user who pays on the page of a checkout has the plan', async () => {
  await using world = await createStripeWorld()
  const reply = await world.checkOut('pro')
  const { sessionId, ...response } = reply.json.response
  expect(response).toMatchObject({ trialDays: 0, overlapUntil: null })
  world.stripe.completeCheckout(sessionId)
  await world.stripe.deliver()
  expect(await world.list()).toMatchObject([
    { store: 'STRIPE', status: 'active', willRenew: true, priceId: world.prices.pro.id },
  ])
})
