import { lifecycle } from '../billing.ts'
import { ANN, cancellation, expiration, type Flow, initial, issue, renewal } from './events.ts'

/** One purchase with trials, cancellations, billing issues and refunds. */
export const lapses: Flow[] = [
  {
    name: 'F1: a trial converts, is cancelled and expires',
    events: [
      initial({ period_type: 'TRIAL', expiration_day: 7, price: 0 }),
      renewal(7, 37, { is_trial_conversion: true }),
      cancellation(10, 'UNSUBSCRIBE', { purchased_day: 7, expiration_day: 37 }),
      expiration(37, 'UNSUBSCRIBE', { purchased_day: 7 }),
    ],
    expected: [
      [36, ANN, true],
      [38, ANN, false, 'expired'],
    ],
  },
  {
    name: 'F2: a cancelled trial is resumed by a renewal',
    events: [
      initial({ period_type: 'TRIAL', expiration_day: 7 }),
      cancellation(3, 'UNSUBSCRIBE', { expiration_day: 7 }),
      expiration(7, 'UNSUBSCRIBE'),
      renewal(60, 90),
    ],
    expected: [
      [61, ANN, true, 'active'],
      [91, ANN, false, 'expired'],
    ],
  },
  {
    name: 'F3: a cancellation is reverted',
    events: [initial(), cancellation(5, 'UNSUBSCRIBE'), lifecycle(ANN, 'UNCANCELLATION', 6)],
    expected: [
      [7, ANN, true, 'active'],
      [31, ANN, false],
    ],
  },
  {
    name: 'F4: a billing issue with a grace period recovers',
    events: [initial(), issue(30, 46), cancellation(30, 'BILLING_ERROR'), renewal(40, 70)],
    expected: [
      [41, ANN, true, 'active'],
      [71, ANN, false],
    ],
  },
  {
    name: 'F5: a billing issue is not resolved in the grace period, and recovers later',
    events: [
      initial(),
      issue(30, 46),
      cancellation(30, 'BILLING_ERROR'),
      expiration(46, 'BILLING_ERROR', { expiration_day: 30 }),
      renewal(50, 80),
    ],
    expected: [
      [51, ANN, true, 'active'],
      [81, ANN, false],
    ],
  },
  {
    name: 'F5: access lasts until the end of the grace period',
    events: [initial(), issue(30, 46), cancellation(30, 'BILLING_ERROR')],
    expected: [
      [29, ANN, true],
      [45, ANN, true, 'in_grace_period'],
      [47, ANN, false, 'expired'],
    ],
  },
  {
    name: 'F6: a billing issue without a grace period ends access immediately',
    events: [
      initial(),
      issue(30, null),
      cancellation(30, 'BILLING_ERROR'),
      expiration(30, 'BILLING_ERROR'),
    ],
    expected: [[30.1, ANN, false, 'expired']],
  },
  {
    name: 'F7: Stripe extends the period with the billing issue, and expires early',
    events: [
      initial({ store: 'STRIPE' }),
      issue(30, null, { store: 'STRIPE', expiration_day: 60 }),
      cancellation(30, 'BILLING_ERROR', { store: 'STRIPE', expiration_day: 60 }),
      renewal(33, 60, { store: 'STRIPE', purchased_day: 30 }),
      cancellation(40, 'UNSUBSCRIBE', { store: 'STRIPE', purchased_day: 30, expiration_day: 60 }),
      expiration(41, 'UNSUBSCRIBE', { store: 'STRIPE', purchased_day: 30, expiration_day: 60 }),
    ],
    expected: [[42, ANN, false, 'expired']],
  },
  {
    name: 'F7: Stripe keeps access while it retries',
    events: [
      initial({ store: 'STRIPE' }),
      issue(30, null, { store: 'STRIPE', expiration_day: 60 }),
      cancellation(30, 'BILLING_ERROR', { store: 'STRIPE', expiration_day: 60 }),
    ],
    expected: [[31, ANN, true, 'in_billing_retry']],
  },
  {
    name: 'F8: a refund ends access, and a renewal restores it',
    events: [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { price: -9.99, expiration_day: 4.99 }),
      renewal(35, 65),
    ],
    expected: [[36, ANN, true, 'active']],
  },
  {
    name: 'F8: a refund followed by its expiration',
    events: [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { price: -9.99, expiration_day: 4.99 }),
      expiration(5.01, 'CUSTOMER_SUPPORT', { expiration_day: 4.99 }),
    ],
    expected: [
      [4, ANN, true],
      [6, ANN, false, 'refunded'],
    ],
  },
  {
    name: 'F9: a refund is reversed',
    events: [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { expiration_day: 4.99 }),
      lifecycle(ANN, 'REFUND_REVERSED', 8, { purchased_day: 0, expiration_day: 30 }),
    ],
    expected: [
      [9, ANN, true, 'active'],
      [31, ANN, false],
    ],
  },
]
