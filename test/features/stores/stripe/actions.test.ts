import { expect, test } from 'bun:test'
import { runCommand } from '../../../support/commands.ts'
import { signInOperator } from '../../../support/operator.ts'
import { publishPlans } from '../../../support/plans.ts'
import { createStripeWorld, plan } from '../../../support/stripe/world.ts'

test('finds a purchase by its subscription, item, invoice, charge and customer', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  bought.refund()
  await world.drain()
  await world.drain()
  const ann = await signInOperator(world.app)
  const ids = [
    bought.id,
    bought.item().id,
    bought.currentInvoice().id,
    bought.customer,
    bought.chargeOf().id,
  ]
  for (const id of ids) {
    const { purchases } = await ann.read(`purchases?id=${id}`)
    expect([id, purchases.length, purchases[0]?.transactionId]).toEqual([id, 1, bought.item().id])
  }
})

test('an operator refreshes a purchase, cancels it at the end of the period, and ends it immediately', async () => {
  await using world = await createStripeWorld({ probabilities: { lost: 1 } })
  const bought = await world.buy()
  await world.ask('/api/user/purchases/v1', {
    purchases: [{ store: 'stripe', sessionId: bought.sessionId }],
  })
  const id = bought.item().id
  await runCommand(world.app, 'purchases refresh', [id])
  expect(await world.list()).toMatchObject([{ willRenew: true }])
  const ann = await signInOperator(world.app)
  const json = { reason: 'asked by phone' }
  const cancelled = await ann.ask('POST', `purchases/${id}/cancel`, { json })
  expect(cancelled.json.response).toMatchObject([{ transactionId: id }])
  expect(await world.list()).toMatchObject([{ active: true, willRenew: false }])
  await runCommand(world.app, 'purchases cancel', [bought.id], { now: true, reason: 'fraud' })
  expect(await world.list()).toMatchObject([{ active: false }])
  expect(bought.status()).toBe('canceled')
})

test('an operator refreshes and cancels a refunded purchase', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  bought.refund()
  await world.drain()
  await world.drain()
  expect(await world.list()).toMatchObject([{ status: 'refunded', willRenew: true }])
  await runCommand(world.app, 'purchases refresh', [bought.id])
  await runCommand(world.app, 'purchases cancel', [bought.id])
  expect(await world.list()).toMatchObject([{ status: 'refunded', willRenew: false }])
})

test('a customer with two running subscriptions is asked which one to cancel', async () => {
  await using world = await createStripeWorld()
  const { app, stripe, prices } = world
  const first = await world.buy()
  const customer = stripe.customer(first.customer)
  const second = stripe.subscribe({ customer, price: prices.team, metadata: first.object.metadata })
  await world.drain()
  const cancel = (id: string) => runCommand(app, 'purchases cancel', [id], { now: true })
  const refused = await cancel(first.customer).catch((error) => error)
  expect(refused.code).toBe('conflict')
  expect(refused.message).toContain(first.id)
  expect(refused.message).toContain(second.id)
  expect([first.status(), second.status()]).toEqual(['active', 'active'])
  await cancel(first.id)
  await cancel(first.customer)
  expect([first.status(), second.status()]).toEqual(['canceled', 'canceled'])
})

test('a subscription with several products is cancelled as a whole', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  bought.addItem(world.prices.team)
  await world.drain()
  expect(await world.list()).toHaveLength(2)
  await runCommand(world.app, 'purchases cancel', [bought.id], { now: true })
  expect(await world.list()).toMatchObject([{ active: false }, { active: false }])
})

test('only a purchase at Stripe can be cancelled', async () => {
  await using world = await createStripeWorld()
  const ann = await signInOperator(world.app)
  const json = { reason: 'none' }
  expect((await ann.ask('POST', 'purchases/sub_none/cancel', { json })).status).toBe(404)
})

test('"stores check" names what is missing at Stripe', async () => {
  await using world = await createStripeWorld({}, { BASE_URL: 'https://api.example.com' })
  const { stripe } = world.app.services.stores
  const problems = async () =>
    ((await stripe?.status.check()) ?? []).flatMap(({ what, fault }) => (fault ? [what] : []))
  // The fake's webhook has another address.
  expect(await problems()).toEqual(['Stripe production: webhook', 'Stripe sandbox: webhook'])
  world.stripe.archivePrice(world.prices.pro)
  expect(await problems()).toContain('Stripe: prices')
  expect(stripe?.prices.lastProblems()).toEqual([
    `Plan pro: the price ${world.prices.pro.id} is archived at Stripe.`,
  ])
})

test('reports a plan whose price differs from what Stripe charges', async () => {
  await using world = await createStripeWorld()
  const other = world.stripe.createPrice({ amount: 1_500, currency: 'eur' })
  await publishPlans(world.app, [{ code: 'free' }, plan('pro', other.id, { price: 9.99 })])
  expect(await world.app.services.stores.stripe?.prices.findProblems()).toEqual([
    'Plan pro: it shows 9.99 USD, and Stripe charges 15 EUR.',
  ])
  expect((await world.checkOut()).status).toBe(200)
})
