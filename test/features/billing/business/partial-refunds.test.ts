import { expect, test } from 'bun:test'
import { receive } from '../../../support/billing.ts'
import { count, createFiguresApp, storedSums } from '../../../support/business.ts'
import { cancellation, initial } from '../../../support/flows/events.ts'
import { createStripeWorld, type StripeWorld } from '../../../support/stripe/world.ts'

const HOUR = 3_600_000

test.each([
  ['CUSTOMER_SUPPORT', -5, 5_000],
  ['UNSUBSCRIBE', -20, 20_000],
  ['CUSTOMER_SUPPORT', -25, 20_000],
])('a refund by Stripe (%s, %p) reduces the revenue', async (reason, price, refunded) => {
  await using app = await createFiguresApp()
  const stripe = { store: 'STRIPE' }
  await receive(app, initial({ ...stripe, price: 20 }))
  await receive(app, cancellation(5, reason, { ...stripe, price }))
  await count(app)
  const sums = await storedSums(app)
  expect(sums).toContain('PRODUCTION paid.month 2026-10 USD 20000')
  expect(sums).toContain(`PRODUCTION refunded.month 2026-10 USD ${refunded}`)
})

test('each product of an invoice counts its own share of a refund', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy('pro')
  bought.addItem(world.prices.team)
  await world.advance(HOUR)
  bought.renew()
  await world.advance(2 * HOUR)
  bought.refund({ amount: 1_000 })
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-11')).toEqual({ paid: 67_990, refunded: 10_000 })
  bought.refund()
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-11')).toEqual({ paid: 67_990, refunded: 67_990 })
  expect(await refundsIn(world)).toEqual([-50.57, -17.42])
})

test('a product that was added later has no part in the refund', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy('pro')
  bought.addItem(world.prices.team)
  await world.advance(HOUR)
  bought.refund()
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-10')).toEqual({ paid: 9_990, refunded: 9_990 })
  expect(await refundsIn(world)).toEqual([-9.99])
})

test('a lost dispute after a partial refund takes back the whole payment', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy('pro')
  bought.refund({ amount: 100 })
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-10')).toEqual({ paid: 9_990, refunded: 1_000 })
  const dispute = bought.dispute()
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-10')).toEqual({ paid: 9_990, refunded: 9_990 })
  bought.winDispute(dispute)
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-10')).toEqual({ paid: 9_990, refunded: 1_000 })
})

test('a partial refund that fails is no longer subtracted', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy('pro')
  const refund = bought.refund({ amount: 100, isPending: true })
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-10')).toEqual({ paid: 9_990, refunded: 1_000 })
  bought.failRefund(refund)
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-10')).toEqual({ paid: 9_990, refunded: 0 })
})

test('a partial refund stays in its month when Stripe reports it again', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy('pro')
  const refund = bought.refund({ amount: 100, isPending: true })
  await world.advance(HOUR)
  await world.advance(31 * 24 * HOUR)
  bought.succeedRefund(refund)
  await world.advance(HOUR)
  expect(await amountsIn(world, '2026-10')).toEqual({ paid: 9_990, refunded: 1_000 })
})

async function amountsIn({ app }: StripeWorld, month: string) {
  await app.services.counting.rebuild(AbortSignal.timeout(10_000))
  const { months } = await app.services.figures.read({ month, currency: 'USD' })
  const { paid, refunded } = months.at(-1) ?? {}
  return { paid, refunded }
}

/** As shown in the history, the largest first. */
async function refundsIn({ app, userId }: StripeWorld) {
  const { lines } = await app.services.timeline.read(userId, 'production')
  const refunds = lines.flatMap(({ events }) => events.filter(({ type }) => type === 'REFUND'))
  return refunds.flatMap(({ price }) => price?.amount ?? []).toSorted((a, b) => a - b)
}
