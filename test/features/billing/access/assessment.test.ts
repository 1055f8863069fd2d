import { expect, test } from 'bun:test'
import { assessWithPlans } from '../../../../src/features/billing/access/assessment.ts'
import { EMPTY_PURCHASE } from '../../../../src/features/billing/purchases/purchase.ts'

test('a month that is paid once on 31 January ends on the last day of February', () => {
  const purchasedAt = Date.parse('2026-01-31T10:00:00Z')
  const purchase = {
    ...EMPTY_PURCHASE,
    productId: 'month',
    periodType: 'PREPAID',
    purchasedAt,
    stated: { transactionId: '1' },
  }
  const plan = {
    code: 'month',
    paymentProductId: 'month',
    paymentPriceId: '',
    price: 10,
    duration: 'month',
  }
  const catalogue = { plans: [plan], archived: [] }
  const settings = { lenienceMs: 0, sandboxTesters: new Set<string>() }
  const [assessed] = assessWithPlans([purchase], catalogue, purchasedAt, settings)
  expect(new Date(assessed?.expiresAt ?? 0).toISOString()).toBe('2026-02-28T10:00:00.000Z')
})
