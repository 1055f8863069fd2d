import { expect, test } from 'bun:test'
import { receive } from '../../../support/billing.ts'
import { count, createFiguresApp, storedSums } from '../../../support/business.ts'
import { cancellation, initial } from '../../../support/flows/events.ts'

test.each([
  ['CUSTOMER_SUPPORT', -5, 5_000],
  ['UNSUBSCRIBE', -20, 20_000],
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
