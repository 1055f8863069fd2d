import { lifecycle } from '../billing.ts'
import { ANN, cancellation, expiration, type Flow, initial, issue, renewal } from './events.ts'

/** Late, simultaneous and unknown events, and several purchases. */
export const edges: Flow[] = [
  {
    name: 'X4: a late expiration of the previous period does not end the current one',
    events: [
      initial(),
      renewal(30, 60),
      expiration(30.01, 'BILLING_ERROR', { purchased_day: 0, expiration_day: 30 }),
    ],
    expected: [[31, ANN, true, 'active']],
  },
  {
    name: 'X5: three simultaneous events leave a billing issue',
    events: [initial(), issue(0, null), cancellation(0, 'BILLING_ERROR')],
    expected: [[1, ANN, true, 'in_billing_retry']],
  },
  {
    name: 'X7: a second purchase keeps the entitlement when the first one ends',
    events: [
      initial(),
      lifecycle(ANN, 'NON_RENEWING_PURCHASE', 5, {
        purchased_day: 5,
        expiration_day: 100,
        transaction_id: '2000',
        original_transaction_id: '2000',
      }),
      expiration(30, 'UNSUBSCRIBE'),
    ],
    expected: [[31, ANN, true]],
  },
  {
    name: 'X8: an expiration without entitlements ends only its own purchase',
    events: [
      initial(),
      lifecycle(ANN, 'EXPIRATION', 6, {
        entitlement_ids: null,
        transaction_id: '2000',
        original_transaction_id: '2000',
        purchased_day: 1,
        expiration_day: 6,
      }),
    ],
    expected: [[7, ANN, true]],
  },
  {
    name: 'X9: a sandbox purchase gives no access in production',
    events: [initial({ environment: 'SANDBOX' })],
    expected: [[1, ANN, false]],
  },
  {
    name: '90, X10: an unknown type and an unknown store change nothing',
    events: [
      initial({ store: 'GALAXY', novel: { deep: true } }),
      { type: 'NEWS', at: 2, app_user_id: ANN },
    ],
    expected: [[3, ANN, true, 'active']],
  },
]
