import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { ANN, cancellation, initial, renewal } from '../../../support/flows/events.ts'
import { signInOperator } from '../../../support/operator.ts'
import { playEvents } from '../../../support/play-events.ts'

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
