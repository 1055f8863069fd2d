import { expect, test } from 'bun:test'
import { assessWithPlans } from '../../../../src/features/billing/access/assessment.ts'
import { EMPTY_PURCHASE } from '../../../../src/features/billing/purchases/purchase.ts'

const START = Date.parse('2026-01-31T10:00:00Z')
const SETTINGS = { graceMs: 0, sandboxTesters: new Set<string>() }

test('a prepaid month that begins on 31 January ends on the last day of February', () => {
  const [assessed] = assess([prepaid('month')], { plans: [createPlan('month')] })
  expect(new Date(assessed?.expiresAt ?? 0).toISOString()).toBe('2026-02-28T10:00:00.000Z')
})

test('a prepaid purchase of a plan with an invalid duration ends at its start, or at its known end', () => {
  const plans = [createPlan('month', { duration: 'bananas' })]
  const unknownStart = { ...prepaid('month'), purchasedAt: null, startedAt: START }
  const known = { ...prepaid('month'), expiresAt: START + 1 }
  for (const [purchase, end] of [
    [prepaid('month'), START],
    [unknownStart, START],
    [known, START + 1],
  ] as const) {
    expect(assess([purchase], { plans })[0]).toMatchObject({
      effectiveEnd: end,
      active: end > START,
    })
  }
})

test.each([
  ['yen', 'dollars'],
  ['dollars', 'yen'],
])('prices in different currencies are converted (%s bought first)', (first) => {
  const plans = [
    createPlan('yen', { price: 1000, currency: 'jpy' }),
    createPlan('dollars', { price: 20, currency: 'usd' }),
  ]
  const later = (code: string) => ({ ...prepaid(code), startedAt: code === first ? 1 : 2 })
  const purchases = [later('yen'), later('dollars')]
  const bestOf = (rates?: Record<string, number>) =>
    assess(purchases, { plans, ...(rates && { rates }) })[0]?.productId
  expect(bestOf({ EUR: 1, JPY: 160, USD: 1.1 })).toBe('dollars')
  expect(bestOf({ EUR: 1, JPY: 10, USD: 1.1 })).toBe('yen')
  // Without a rate, prices are not compared, but the starts are.
  const withoutPrices = assess(purchases, { plans: plans.map((plan) => ({ ...plan, price: 1 })) })
  for (const rates of [undefined, {}, { EUR: 1, USD: 1.1 }]) {
    expect(bestOf(rates)).toBe(withoutPrices[0]?.productId as string)
  }
})

test('granted access does not replace a plan whose price is a smaller number in another currency', () => {
  const plans = [
    createPlan('yen', { price: 1000, currency: 'jpy' }),
    createPlan('dollars', { price: 20, currency: 'usd' }),
  ]
  const grant = { by: 'ann', reason: 'staff', at: START }
  const granted = {
    ...EMPTY_PURCHASE,
    entitlementIds: ['yen'],
    expiresAt: START + 1000,
    grant: grant as never,
  }
  const rates = { JPY: 160, USD: 1.1 }
  const [best] = assess([granted, prepaid('dollars')], { plans, rates })
  expect(best?.productId).toBe('dollars')
})

function assess(
  purchases: (typeof EMPTY_PURCHASE)[],
  catalogue: { plans: ReturnType<typeof createPlan>[]; rates?: Record<string, number> },
) {
  return assessWithPlans(purchases, { archived: [], ...catalogue }, START, SETTINGS)
}

function prepaid(productId: string) {
  const stated = { transactionId: '1' }
  return { ...EMPTY_PURCHASE, productId, periodType: 'PREPAID', purchasedAt: START, stated }
}

function createPlan(
  code: string,
  fields: { price?: number; currency?: string; duration?: string } = {},
) {
  const ids = { code, paymentProductId: code, paymentPriceId: '' }
  return { ...ids, price: 10, currency: 'usd', duration: 'month', ...fields }
}
