import { expect, test } from 'bun:test'
import { publishPlans } from '../../../support/plans.ts'
import { createStripeWorld, plan, SHOP } from '../../../support/stripe/world.ts'

const DAY = 24 * 3_600_000

function outcomeOf({ status, json }: { status: number; json: { code: string } }): [number, string] {
  return [status, json.code]
}

test('a plan that is not sold by card, or has no valid price, cannot be bought', async () => {
  await using world = await createStripeWorld()
  await publishPlans(world.app, [
    { code: 'free' },
    plan('pro', world.prices.pro.id),
    plan('lost', 'price_none'),
    plan('elsewhere', world.prices.team.id, { source: 'revenuecat' }),
    plan('talk', world.stripe.createPrice().id, { isEnterprise: true }),
  ])
  world.stripe.archivePrice(world.prices.pro)
  for (const code of ['pro', 'lost', 'elsewhere', 'talk', 'free', 'invented'])
    expect([code, ...outcomeOf(await world.checkOut(code))]).toEqual([code, 409, 'not_for_sale'])
})

test('only the first subscription gets a trial', async () => {
  await using world = await createStripeWorld()
  const { pro } = world.prices
  await publishPlans(world.app, [{ code: 'free' }, plan('pro', pro.id, { trialDays: 7 })])
  const { sessionId, trialDays } = (await world.checkOut()).json.response
  expect(trialDays).toBe(7)
  const bought = world.stripe.completeCheckout(sessionId)
  await world.drain()
  expect(await world.list()).toMatchObject([{ status: 'trialing', periodType: 'TRIAL' }])
  bought?.cancel()
  await world.drain()
  expect((await world.checkOut()).json.response.trialDays).toBe(0)
})

test('a trial without a card ends', async () => {
  await using world = await createStripeWorld()
  const { pro } = world.prices
  await publishPlans(world.app, [{ code: 'free' }, plan('pro', pro.id, { trialDays: 7 })])
  const { sessionId } = (await world.checkOut()).json.response
  const bought = world.stripe.completeCheckout(sessionId)
  bought?.setCard('declines')
  await world.advance(1_000)
  await world.advance(60 * DAY)
  expect(await world.list()).toMatchObject([{ active: false }])
})

test('each unit has the seats of the plan', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy('team', { quantity: 5 })
  const read = async () =>
    (await world.app.ask('GET', '/api/user/subscription/v1', { token: world.token })).json.response
  expect((await read()).limits.seatLimit).toBe(15)
  const usage = await world.app.ask('GET', '/api/user/usage/v1', { token: world.token })
  const seats = usage.json.response.find(({ name }: { name: string }) => name === 'seatLimit')
  expect(seats.limit).toBe(15)
  bought.setQuantity(2)
  await world.drain()
  expect((await read()).limits.seatLimit).toBe(6)
})

test('the portal opens for users who have bought something, and returns to the app', async () => {
  await using world = await createStripeWorld()
  const open = (body: object = {}) =>
    world.ask('/api/user/billing_portal/v1', { returnUrl: SHOP, ...body })
  expect(outcomeOf(await open())).toEqual([404, 'not_found'])
  await world.buy()
  const { json } = await open()
  expect(json.response.url).toStartWith(world.stripe.url)
  for (const flow of ['cancel', 'change', 'payment_method'])
    expect([flow, ...outcomeOf(await open({ flow }))]).toEqual([flow, 200, 'ok'])
})

test('the sandbox has its own customers and prices', async () => {
  await using world = await createStripeWorld()
  const testPrice = world.stripe.createPrice({}, false)
  await publishPlans(world.app, [
    { code: 'free' },
    plan('pro', world.prices.pro.id, { otherProductIds: [testPrice.id] }),
  ])
  const { sessionId } = (await world.checkOut('pro', { environment: 'sandbox' })).json.response
  expect(sessionId).toStartWith('cs_test_')
  world.stripe.completeCheckout(sessionId)
  await world.drain()
  expect(await world.list('sandbox')).toMatchObject([{ status: 'active' }])
  expect(await world.list()).toEqual([])
})

test('the portal opens even if its flow has nothing to do', async () => {
  await using world = await createStripeWorld()
  await world.buy()
  const refused = { kind: 'error', status: 400, on: 'POST /v1/billing_portal/sessions' } as const
  world.stripe.api.faults = [refused]
  const json = { returnUrl: SHOP, flow: 'cancel' }
  const reply = await world.ask('/api/user/billing_portal/v1', json)
  expect(outcomeOf(reply)).toEqual([200, 'ok'])
})

test('a page that no longer exists at Stripe is replaced', async () => {
  await using world = await createStripeWorld()
  await world.checkOut()
  const on = 'GET /v1/checkout/sessions'
  world.stripe.api.faults = [{ kind: 'error', status: 404, code: 'resource_missing', on }]
  expect(outcomeOf(await world.checkOut())).toEqual([200, 'ok'])
})
