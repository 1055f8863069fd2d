import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { deliver } from '../../../support/billing.ts'
import { ANN, cancellation, initial, renewal } from '../../../support/flows/events.ts'
import { signInOperator } from '../../../support/operator.ts'
import { publishPlans } from '../../../support/plans.ts'
import { playEvents } from '../../../support/play-events.ts'
import { report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'
import { stripeProviderEvent } from '../../../support/stripe/histories.ts'
import { createStripeWorld, plan, type StripeWorld } from '../../../support/stripe/world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const MONTH = 31 * 24 * HOUR

test('lists each payment once, in the currency paid, and their total', async () => {
  await using app = await createTestApp()
  const paid = (amount: number) => ({
    price: amount * 1.1,
    price_in_purchased_currency: amount,
    currency: 'EUR',
  })
  const second = { transaction_id: '1001', ...paid(8.99) }
  await playEvents(
    app,
    [
      initial({ id: 'bought', ...paid(9.99) }),
      renewal(30, 60, { id: 'renewed', ...second }),
      renewal(30, 60, { id: 'reported by another source', at: 30.1, ...second }),
      cancellation(40, 'CUSTOMER_SUPPORT', { id: 'refunded', ...second, price: -9 }),
    ],
    61,
  )
  const [purchase] = (await app.services.timeline.read(ANN, 'production')).lines
  const euros = (amount: number) => ({ amount, currency: 'EUR' })
  expect(purchase?.events.map(({ eventId, price }) => [eventId, price])).toEqual([
    ['refunded', euros(-8.99)],
    ['reported by another source', null],
    ['renewed', euros(8.99)],
    ['bought', euros(9.99)],
  ])
  expect(purchase?.paid).toEqual([euros(9.99)])
  const operator = await signInOperator(app)
  expect(await operator.read('events/renewed')).toMatchObject({ price: euros(8.99) })
  const history = await operator.read(
    `purchase-history?key=${encodeURIComponent('PRODUCTION|1000')}`,
  )
  expect(history.paid).toEqual([euros(9.99)])
})

test('distinguishes payments at Stripe with the same transaction id by their periods', async () => {
  await using app = await createTestApp()
  const fields = { store: 'STRIPE', transaction_id: 'si_1', original_transaction_id: 'si_1' }
  await playEvents(
    app,
    [
      initial(fields),
      renewal(30, 60, fields),
      renewal(30, 60, { ...fields, id: 'sent twice', at: 30.1 }),
      renewal(60, 90, fields),
      cancellation(61, 'CUSTOMER_SUPPORT', { ...fields, purchased_day: 60 }),
    ],
    62,
  )
  const [purchase] = (await app.services.timeline.read(ANN, 'production')).lines
  expect(amountsOf(purchase?.events ?? [])).toEqual([-9.99, 9.99, null, 9.99, 9.99])
  expect(purchase?.paid).toEqual([{ amount: 19.98, currency: 'USD' }])
})

test('a reversed refund counts as paid again, however many sources report it', async () => {
  await using app = await createTestApp()
  const reversed = { type: 'REFUND_REVERSED' }
  await playEvents(
    app,
    [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT'),
      initial({ ...reversed, id: 'reversed', at: 6 }),
      initial({ ...reversed, id: 'reported by another source', at: 6.1 }),
      cancellation(7, 'CUSTOMER_SUPPORT', { id: 'refunded again' }),
    ],
    8,
  )
  const [purchase] = (await app.services.timeline.read(ANN, 'production')).lines
  expect(amountsOf(purchase?.events ?? [])).toEqual([-9.99, null, 9.99, -9.99, 9.99])
  expect(purchase?.paid).toEqual([{ amount: 0, currency: 'USD' }])
})

test('a free trial at Google Play is no payment', async () => {
  await using world = await createPlayWorld()
  const bought = world.store.buy({ userId: world.userId, trialDays: 7 })
  await report(world, bought.notification)
  const [purchase] = (await world.app.services.timeline.read(world.userId, 'production')).lines
  expect(purchase?.events).toMatchObject([{ type: 'INITIAL_PURCHASE', price: null }])
  expect(purchase?.paid).toEqual([])
})

test('a dispute at Stripe that is won counts as paid again', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy('pro')
  const dispute = bought.dispute()
  await world.advance(HOUR)
  expect(await paymentsOf(world)).toEqual([-9.99, 9.99])
  bought.winDispute(dispute)
  await world.advance(HOUR)
  expect(await paymentsOf(world)).toEqual([9.99, -9.99, 9.99])
})

test.each(['in_', 'si_'])(
  'a payment that Stripe and the billing provider report as %s… counts once',
  async (prefix) => {
    await using world = await createStripeWorld()
    const bought = await world.buy('pro')
    const { app, userId } = world
    const json = stripeProviderEvent(bought, 'INITIAL_PURCHASE', app.clock.now.getTime(), userId)
    const price = { price: 9.99, currency: 'USD', price_in_purchased_currency: 9.99 }
    const event = { ...json.event, ...price }
    const transactionId = prefix === 'si_' ? { transaction_id: 'si_1' } : {}
    await deliver(app, { ...json, event: { ...event, ...transactionId } })
    await world.drain()
    expect((await paymentsOf(world)).filter((amount) => amount !== null)).toEqual([9.99])
  },
)

test('a renewal at Stripe is a payment once its invoice is paid', async () => {
  await using world = await createStripeWorld()
  const { app, stripe } = world
  const price = stripe.createPrice({ amount: 999, currency: 'eur' })
  await publishPlans(app, [{ code: 'free' }, plan('eu', price.id)])
  await world.buy('eu')
  await world.advance(MONTH + MINUTE)
  expect(await paymentsOf(world)).toEqual([null, 9.99])
  await world.advance(HOUR)
  expect(await paymentsOf(world)).toEqual([9.99, null, 9.99])
  const { events } = await (await signInOperator(app)).read('events')
  expect(amountsOf((events as Priced[]).filter(({ type }) => !type.startsWith('STRIPE_')))).toEqual(
    [9.99, null, 9.99],
  )
})

test('a renewal that Stripe cannot collect is no payment', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy('pro')
  bought.setCard('declines')
  await world.advance(MONTH + MINUTE)
  await world.advance(HOUR)
  expect(bought.status()).toBe('past_due')
  expect(await paymentsOf(world)).toEqual([null, null, 9.99])
  bought.setCard('pays')
  bought.pay()
  await world.drain()
  expect(await paymentsOf(world)).toEqual([9.99, null, null, 9.99])
})

type Priced = { type: string; price: { amount: number } | null }

async function paymentsOf({ app, userId }: StripeWorld) {
  const [purchase] = (await app.services.timeline.read(userId, 'production')).lines
  const amounts = amountsOf(purchase?.events ?? [])
  const total = amounts.reduce((sum: number, amount) => sum + (amount ?? 0), 0)
  expect(purchase?.paid[0]?.amount).toBe(total)
  return amounts
}

function amountsOf(events: Priced[]) {
  return events.map(({ price }) => price?.amount ?? null)
}
