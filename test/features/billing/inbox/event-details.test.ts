import { expect, test } from 'bun:test'
import { NO_EVENT, readEvent } from '../../../../src/features/billing/inbox/event.ts'
import { toEventDetails } from '../../../../src/features/billing/inbox/event-details.ts'
import { bodyOf, lifecycle } from '../../../support/billing.ts'

const REFUND = { cancel_reason: 'CUSTOMER_SUPPORT' }
const IN_EUROS = { price_in_purchased_currency: 8.99, currency: 'EUR' }

test.each<[type: string, fields: Record<string, unknown>, amount: number | undefined]>([
  ['INITIAL_PURCHASE', {}, 9.99],
  ['INITIAL_PURCHASE', { price: 0, period_type: 'TRIAL' }, undefined],
  ['RENEWAL', IN_EUROS, 8.99],
  ['CANCELLATION', {}, undefined],
  ['CANCELLATION', REFUND, -9.99],
  ['CANCELLATION', { ...REFUND, ...IN_EUROS, price: -9.99 }, -8.99],
  ['REFUND', {}, -9.99],
  ['EXPIRATION', {}, undefined],
  ['BILLING_ISSUE', {}, undefined],
])('%s with %j moves the amount %p', (type, fields, amount) => {
  const body = bodyOf(lifecycle('ann', type, 1, fields))
  const { price, isRefund } = toEventDetails(readEvent(body, Buffer.from(JSON.stringify(body))))
  expect(price?.amount).toBe(amount)
  expect(isRefund).toBe(amount !== undefined && amount < 0)
})

test.each<[type: string, paid: number | null, amount: number | undefined]>([
  ['INITIAL_PURCHASE', 9990, 9.99],
  ['INITIAL_PURCHASE', null, undefined],
  ['CANCELLATION', 9990, undefined],
])('%s of a store with the payment %p moves the amount %p', (type, paid, amount) => {
  const event = { ...NO_EVENT, type, stated: 'full' as const, price: 9.99 }
  const money = paid === null ? null : { amount: paid, currency: 'USD' }
  expect(toEventDetails({ ...event, paid: money }).price?.amount).toBe(amount)
})
