import { expect, test } from 'bun:test'
import { NO_EVENT, readEvent } from '../../../../src/features/billing/inbox/event.ts'
import type { OrderedEvent } from '../../../../src/features/billing/purchases/event-order.ts'
import { foldPurchase } from '../../../../src/features/billing/purchases/fold.ts'
import type { Purchase } from '../../../../src/features/billing/purchases/purchase.ts'
import { bodyOf, type EventFixture, lifecycle, ms } from '../../../support/billing.ts'
import { ANN, cancellation, initial, play } from '../../../support/flows/events.ts'

type Case = [name: string, events: (OrderedEvent | EventFixture)[], expected: Partial<Purchase>]

const change = (product: string, fields = {}) =>
  lifecycle(ANN, 'PRODUCT_CHANGE', 10.01, {
    new_product_id: product,
    purchased_day: 10,
    ...fields,
  })
const order = { ...play, transaction_id: 'GPA.1' }
const basic = { product_id: 'basic', entitlement_ids: ['basic'], price_id: 'price_basic' }

test.each<Case>([
  [
    'a refund that the billing provider has reversed stays reversed when the store describes the period',
    [
      initial(order),
      cancellation(5, 'CUSTOMER_SUPPORT', order),
      lifecycle(ANN, 'REFUND_REVERSED', 8, order),
      snapshot(10, { store: 'PLAY_STORE', transactionId: 'GPA.1' }),
    ],
    { refundedAt: null, endedAt: null },
  ],
  [
    'a snapshot of another product drops the entitlements and the price of the last one',
    [initial(basic), snapshot(10, { productId: 'pro', transactionId: '2', price: null })],
    { productId: 'pro', entitlementIds: [], priceId: null, price: null },
  ],
  [
    'a snapshot of the same product keeps its entitlements and price',
    [initial(basic), snapshot(10, { productId: 'basic', transactionId: '2', price: null })],
    { productId: 'basic', entitlementIds: ['basic'], priceId: 'price_basic', price: 9.99 },
  ],
  [
    'the billing provider adds entitlements and a price to a period that the store has described',
    [snapshot(10, { productId: 'basic' }), change('basic', basic)],
    { productId: 'basic', entitlementIds: ['basic'], priceId: 'price_basic', price: 9.99 },
  ],
  [
    'the billing provider adds no details from an event about another product',
    [snapshot(10, { productId: 'pro' }), change('pro', basic)],
    { productId: 'pro', entitlementIds: [], priceId: null, price: null },
  ],
  [
    'a refund of an earlier transaction does not end access, even if it began in the same hour',
    [
      snapshot(0),
      snapshot(0.02, { transactionId: '2' }),
      snapshot(0, { orderedAt: ms(3), type: 'REFUND', refundedAt: ms(3), endedAt: ms(3) }),
    ],
    { purchasedAt: ms(0.02), refundedAt: null, endedAt: null, startedAt: ms(0) },
  ],
  [
    'a partial snapshot keeps only details of the same transaction',
    [
      snapshot(0, { expiresAt: ms(0.01), endedAt: ms(0.01), willRenew: false }),
      snapshot(0.02, { transactionId: '2', stated: 'partial', willRenew: null }),
    ],
    { purchasedAt: ms(0.02), endedAt: null, willRenew: true },
  ],
])('%s', (_name, events, expected) => {
  expect(foldPurchase(events.map(ordered))).toMatchObject(expected)
})

/** A store's description of the whole purchase. */
function snapshot(day: number, fields: Partial<OrderedEvent> = {}): OrderedEvent {
  return {
    ...NO_EVENT,
    id: `S-${day}`,
    type: 'RENEWAL',
    store: 'APP_STORE',
    stated: 'full',
    productId: 'pro',
    transactionId: '1',
    purchasedAt: ms(day),
    expiresAt: ms(day + 30),
    willRenew: true,
    orderedAt: ms(day),
    ...fields,
  }
}

function ordered(event: OrderedEvent | EventFixture, at: number): OrderedEvent {
  if ('orderedAt' in event) return event as OrderedEvent
  const read = readEvent(bodyOf({ ...event, id: `E-${at}` }), Buffer.from(''))
  if (!read) throw new Error('the fixture has no event')
  return { ...read, orderedAt: ms(event.at) }
}
