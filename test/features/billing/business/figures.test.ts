import { describe, expect, test } from 'bun:test'
import type { TestApp } from '../../../support/app.ts'
import { lifecycle, purchase } from '../../../support/billing.ts'
import { createFiguresApp, figuresAfter } from '../../../support/business.ts'
import { signInOperator } from '../../../support/operator.ts'

const renewal = (from: number, to: number, fields: Record<string, unknown> = {}) =>
  lifecycle('ann', 'RENEWAL', from, {
    purchased_day: from,
    expiration_day: to,
    transaction_id: `R-${from}`,
    ...fields,
  })
const euros = { currency: 'EUR', price_in_purchased_currency: 8.5, country_code: 'DE' }

test('sandbox purchases count separately', async () => {
  await using app = await createFiguresApp()
  const { months } = await figuresAfter(app, [purchase('ann', { environment: 'SANDBOX' })], 5)
  expect(months.at(-1)?.active).toBe(0)
  const sandbox = await app.services.figures.read({ environment: 'sandbox' })
  expect(sandbox.months.at(-1)?.active).toBe(1)
})

test('breaks the figures down by plan, store and country', async () => {
  await using app = await createFiguresApp()
  const noPlan = { product_id: 'other', entitlement_ids: ['other'] }
  const events = [
    purchase('ann', { country_code: 'US' }),
    purchase('bob', { ...euros, store: 'PLAY_STORE', original_transaction_id: '2', price: 10 }),
    purchase('eve', { country_code: 'US', original_transaction_id: '3', ...noPlan }),
  ]
  const { breakdowns } = await figuresAfter(app, events, 5, { currency: 'usd' })
  const { plan, store, country } = breakdowns
  expect(plan.map(({ name, active }) => [name, active])).toEqual([
    ['Pro', 2],
    ['other', 1],
  ])
  expect(store.map(({ name, active }) => [name, active])).toEqual([
    ['APP_STORE', 2],
    ['PLAY_STORE', 1],
  ])
  expect(country.map(({ name, new: added }) => [name, added])).toEqual([
    ['US', 2],
    ['DE', 1],
  ])
  expect(country.map(({ revenue }) => revenue)[0]).toBe(19_980)
})

describe('currencies', () => {
  async function storeRates(app: TestApp, date: string, euro: number) {
    const { db, newId } = app.services
    const { rateSets, rates } = db.tables
    const setId = newId()
    const at = new Date(`${date}T15:00:00Z`)
    await db.write(async (tx) => {
      await tx.insert(rateSets).values({
        id: setId,
        provider: 'test',
        baseCode: 'USD',
        date,
        publishedAt: at,
        storedAt: at,
      })
      await tx.insert(rates).values({ setId, code: 'EUR', rate: euro })
    })
  }
  const bought = (id: string, day: number) =>
    purchase(id, {
      ...euros,
      at: day,
      purchased_day: day,
      expiration_day: day + 30,
      transaction_id: id,
      original_transaction_id: id,
    })

  test("each payment is converted at that day's exchange rate", async () => {
    await using app = await createFiguresApp()
    await storeRates(app, '2026-10-02', 0.85)
    await storeRates(app, '2026-10-12', 0.5)
    const events = [bought('1', 3), bought('2', 12)]
    const { months, payments, breakdowns } = await figuresAfter(app, events, 15)
    expect(months.at(-1)).toMatchObject({ paid: 10_000 + 17_000 })
    expect(payments).toEqual([{ currency: 'EUR', paid: 17_000, refunded: 0 }])
    expect(breakdowns.country).toMatchObject([{ name: 'DE', revenue: 27_000 }])
    const inEuros = await app.services.figures.read({ currency: 'EUR' })
    expect(inEuros.months.at(-1)).toMatchObject({ paid: 17_000, recurring: 17_000 })
  })

  test('payments from before the first rates use the first rates', async () => {
    await using app = await createFiguresApp()
    await app.services.db.write(async (tx) => {
      const { rateFeeds, rates, rateSets } = app.services.db.tables
      for (const table of [rateFeeds, rates, rateSets]) await tx.delete(table)
    })
    const { unconverted, months } = await figuresAfter(app, [bought('1', 3)], 15)
    expect([unconverted, months.at(-1)?.paid]).toEqual([['EUR'], 0])
    await storeRates(app, '2026-10-12', 0.5)
    const later = await app.services.figures.read({})
    expect([later.unconverted, later.ratesSince]).toEqual([[], '2026-10-12'])
    expect(later.months.at(-1)?.paid).toBe(17_000)
  })
})

test('cohorts show how many subscriptions were still paid for in each later month', async () => {
  await using app = await createFiguresApp()
  const other = { original_transaction_id: '2', transaction_id: '2' }
  const events = [
    purchase('ann', { expiration_day: 31 }),
    renewal(31, 61),
    renewal(61, 92),
    purchase('bob', { ...other, expiration_day: 31 }),
    lifecycle('bob', 'EXPIRATION', 31, { ...other, expiration_day: 31 }),
  ]
  const retained = async (day: number) => {
    const { cohorts } = await figuresAfter(app, day === 130 ? events : [], day)
    return cohorts.find(({ month }) => month === '2026-10')?.retained
  }
  expect(await retained(130)).toEqual([2, 1, 1])
  expect(await retained(158)).toEqual([2, 1, 1, 0])
})

test('compares an incomplete month with the same days of the previous month', async () => {
  await using app = await createFiguresApp()
  const events = [
    purchase('ann', { expiration_day: 300 }),
    ...[20, 32].map((at) =>
      purchase(`user-${at}`, {
        at,
        purchased_day: at,
        expiration_day: 300,
        original_transaction_id: `P-${at}`,
      }),
    ),
  ]
  const { months, before, until } = await figuresAfter(app, events, 40)
  expect([until, months.at(-1)?.new, before.new]).toEqual(['2026-11-10', 1, 1])
  const october = await app.services.figures.read({ month: '2026-10' })
  expect([october.until, october.months.at(-1)?.new]).toEqual([null, 2])
})

test('a reader sees the figures in the console', async () => {
  await using app = await createFiguresApp()
  await figuresAfter(app, [purchase('ann')], 5)
  const browser = await signInOperator(app, { role: 'reader' })
  const { json } = await browser.ask('GET', 'business?month=2026-10&currency=USD')
  expect(json.response.months.at(-1)).toMatchObject({ month: '2026-10', active: 1 })
  expect((await browser.ask('GET', 'business?month=2026-13')).status).toBe(422)
})
