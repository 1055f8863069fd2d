import { lifecycle, ms } from '../billing.ts'
import { ANN, cancellation, expiration, type Flow, initial, issue, renewal } from './events.ts'

const PERIOD = { purchased_day: 0, expiration_day: 30 }
const stripe = { store: 'STRIPE', transaction_id: 'si_1', original_transaction_id: 'si_1' }

/** Events as providers really send them: invalid ends, late reports of past periods, and Stripe's unpaid invoices. */
export const oddInputs: Flow[] = [
  ...['text', 'fraction', 'ISO 8601'].map((form) => ({
    name: `the end of a period is read as ${form}`,
    events: [initial({ expiration_day: undefined, expiration_at_ms: formatEnd(form) })],
    expected: [
      [29, ANN, true, 'active'],
      [31, ANN, false],
    ] as Flow['expected'],
  })),
  ...[null, undefined, '', 'soon', {}, -1].flatMap((end) =>
    ['INITIAL_PURCHASE', 'RENEWAL'].map((type) => ({
      name: `${type} with the end ${JSON.stringify(end)} gives no access beyond what is known`,
      events: [initial(), lifecycle(ANN, type, 20, { purchased_day: 20, expiration_at_ms: end })],
      expected: [
        [29, ANN, true],
        [31, ANN, false],
      ] as Flow['expected'],
    })),
  ),
  {
    name: 'a first event without an end gives no access',
    events: [lifecycle(ANN, 'UNCANCELLATION', 5, { purchased_day: 0 })],
    expected: [[6, ANN, false]],
  },
  {
    name: 'a purchase that does not renew can have no end',
    events: [
      lifecycle(ANN, 'NON_RENEWING_PURCHASE', 0, { purchased_day: 0, expiration_at_ms: null }),
    ],
    expected: [[5_000, ANN, true]],
  },
  ...['RENEWAL', 'CANCELLATION', 'PRODUCT_CHANGE', 'SUBSCRIPTION_PAUSED', 'BILLING_ISSUE'].map(
    (type) => ({
      name: `${type} of a period that had ended, generated late, changes nothing`,
      events: [
        initial(),
        renewal(30, 60),
        lifecycle(ANN, type, 31, {
          ...PERIOD,
          cancel_reason: 'UNSUBSCRIBE',
          entitlement_ids: ['old'],
        }),
      ],
      expected: [
        [32, ANN, true, 'active'],
        [59, ANN, true, 'active'],
      ] as Flow['expected'],
    }),
  ),
  {
    name: 'an upgrade after an early charge counts',
    events: [
      initial({ entitlement_ids: ['basic'] }),
      lifecycle(ANN, 'RENEWAL', 29, {
        purchased_day: 30,
        expiration_day: 60,
        entitlement_ids: ['basic'],
      }),
      lifecycle(ANN, 'RENEWAL', 29.5, { purchased_day: 29.5, expiration_day: 59.5 }),
    ],
    expected: [[40, ANN, true, 'active']],
  },
  ...['UNSUBSCRIBE', 'BILLING_ERROR', 'PRICE_INCREASE', 'DEVELOPER_INITIATED', 'UNKNOWN'].flatMap(
    (reason) =>
      [{ price: -9.99 }, { price: null, price_in_purchased_currency: -8.5, currency: 'EUR' }].map(
        (prices) => ({
          name: `a cancellation (${reason}) with ${JSON.stringify(prices)} is a refund`,
          events: [initial(), cancellation(5, reason, prices)],
          expected: [[6, ANN, false, 'refunded']] as Flow['expected'],
        }),
      ),
  ),
  {
    name: 'a Stripe renewal without a price gives no access once the unpaid subscription has expired',
    events: [
      initial({ ...stripe, price: 20 }),
      expiration(30, 'BILLING_ERROR', stripe),
      renewal(31, 61, { ...stripe, price: 0 }),
    ],
    expected: [[32, ANN, false]],
  },
  {
    name: 'a paid Stripe renewal gives access again',
    events: [
      initial({ ...stripe, price: 20 }),
      issue(30, null, stripe),
      expiration(31, 'BILLING_ERROR', stripe),
      renewal(32, 62, { ...stripe, price: 0 }),
      renewal(40, 70, { ...stripe, price: 20 }),
    ],
    expected: [[41, ANN, true, 'active']],
  },
  {
    name: 'a Stripe renewal without a price gives access while the subscription is past due',
    events: [initial({ ...stripe, price: 20 }), renewal(30, 60, { ...stripe, price: 0 })],
    expected: [[31, ANN, true]],
  },
  {
    name: 'a partial refund by Stripe keeps access',
    events: [
      initial({ ...stripe, price: 20 }),
      cancellation(5, 'CUSTOMER_SUPPORT', { ...stripe, price: -5 }),
    ],
    expected: [
      [6, ANN, true],
      [31, ANN, false],
    ],
  },
  {
    name: 'a partial refund by Stripe that sets an end in the past ends access',
    events: [
      initial({ ...stripe, price: 20 }),
      cancellation(5, 'CUSTOMER_SUPPORT', { ...stripe, price: -5, expiration_day: 5 }),
    ],
    expected: [[6, ANN, false, 'refunded']],
  },
  {
    name: 'a full refund by Stripe ends access',
    events: [
      initial({ ...stripe, price: 20 }),
      cancellation(5, 'CUSTOMER_SUPPORT', { ...stripe, price: -20 }),
    ],
    expected: [[6, ANN, false, 'refunded']],
  },
  {
    name: 'a failed payment at Stripe ends access if the reported end has passed',
    events: [
      initial({ ...stripe, price: 20 }),
      cancellation(10, 'BILLING_ERROR', { ...stripe, expiration_day: 9 }),
    ],
    expected: [[11, ANN, false]],
  },
]

function formatEnd(form: string): unknown {
  if (form === 'text') return String(ms(30))
  return form === 'fraction' ? ms(30) + 0.5 : new Date(ms(30)).toISOString()
}
