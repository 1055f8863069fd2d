import { lifecycle } from '../billing.ts'
import { cancellation, expiration, type Flow, initial, play, renewal, U, V } from './events.ts'

/** Product changes, pauses, transfers, extensions and grants. */
export const changes: Flow[] = [
  {
    name: 'F11: Apple changes the product at once',
    events: [
      initial({ entitlement_ids: ['basic'], product_id: 'basic' }),
      lifecycle(U, 'PRODUCT_CHANGE', 10, {
        product_id: 'basic',
        new_product_id: 'prod_example_pro',
      }),
      renewal(10, 40),
    ],
    expected: [[11, U, true, 'active']],
  },
  {
    name: 'F11: Google changes the product at once, as a new purchase',
    events: [
      initial({ ...play, entitlement_ids: ['basic'], product_id: 'basic:monthly' }),
      lifecycle(U, 'PRODUCT_CHANGE', 10, { ...play, product_id: 'basic:monthly' }),
      lifecycle(U, 'INITIAL_PURCHASE', 10, {
        ...play,
        purchased_day: 10,
        expiration_day: 40,
        transaction_id: '2000',
        original_transaction_id: '2000',
      }),
    ],
    expected: [[11, U, true, 'active']],
  },
  {
    name: 'F12: a change at the end of the period',
    events: [
      initial({ entitlement_ids: ['gold'], product_id: 'gold' }),
      lifecycle(U, 'PRODUCT_CHANGE', 10, {
        product_id: 'gold',
        new_product_id: 'prod_example_pro',
      }),
      renewal(30, 60),
    ],
    expected: [
      [31, U, true, 'active'],
      [61, U, false],
    ],
  },
  {
    name: 'F13: a pause begins at the end of the period and ends with a renewal',
    events: [
      initial(play),
      lifecycle(U, 'SUBSCRIPTION_PAUSED', 10, { ...play, purchased_day: 0, auto_resume_day: 60 }),
      expiration(30, 'SUBSCRIPTION_PAUSED', play),
      renewal(60, 90, play),
    ],
    expected: [[61, U, true, 'active']],
  },
  {
    name: 'F13: a paused purchase gives no access',
    events: [
      initial(play),
      lifecycle(U, 'SUBSCRIPTION_PAUSED', 10, { ...play, purchased_day: 0, auto_resume_day: 60 }),
      expiration(30, 'SUBSCRIPTION_PAUSED', play),
    ],
    expected: [
      [29, U, true],
      [31, U, false, 'paused'],
    ],
  },
  {
    name: 'F14: a transfer moves the purchase, and later events name the new owner',
    events: [
      initial(),
      { type: 'TRANSFER', at: 10, transferred_from: [U], transferred_to: [V] },
      lifecycle(V, 'RENEWAL', 30, { purchased_day: 30, expiration_day: 60 }),
    ],
    expected: [
      [31, U, false],
      [31, V, true, 'active'],
    ],
  },
  {
    name: 'F14b: the next event assigns an anonymous purchase to the user',
    events: [
      lifecycle('$RCAnonymousID:a', 'INITIAL_PURCHASE', 0, {
        purchased_day: 0,
        expiration_day: 30,
      }),
      renewal(30, 60, {
        original_app_user_id: '$RCAnonymousID:a',
        aliases: ['$RCAnonymousID:a', U],
      }),
    ],
    expected: [[31, U, true, 'active']],
  },
  {
    name: 'F15: the period is extended',
    events: [
      initial(),
      lifecycle(U, 'SUBSCRIPTION_EXTENDED', 20, { purchased_day: 0, expiration_day: 37 }),
    ],
    expected: [
      [36, U, true, 'active'],
      [38, U, false],
    ],
  },
  {
    name: 'F16: a purchase after the end gives access again',
    events: [
      initial(),
      expiration(30, 'UNSUBSCRIBE'),
      lifecycle(U, 'INITIAL_PURCHASE', 50, {
        purchased_day: 50,
        expiration_day: 80,
        transaction_id: '2000',
        original_transaction_id: '2000',
      }),
    ],
    expected: [[51, U, true, 'active']],
  },
  {
    name: 'F17: a promotion is granted and revoked',
    events: [
      lifecycle(U, 'NON_RENEWING_PURCHASE', 0, {
        store: 'PROMOTIONAL',
        period_type: 'PROMOTIONAL',
        purchased_day: 0,
        expiration_day: 90,
      }),
      cancellation(10, 'DEVELOPER_INITIATED', { store: 'PROMOTIONAL', expiration_day: 9.999 }),
      expiration(10.001, 'UNSUBSCRIBE', { store: 'PROMOTIONAL', expiration_day: 9.999 }),
    ],
    expected: [
      [9, U, true],
      [11, U, false, 'expired'],
    ],
  },
  ...[
    { price: 0, day: 11, isActive: true, status: 'active' },
    { price: -9.99, day: 11, isActive: false, status: 'refunded' },
  ].map(({ price, day, isActive, status }) => ({
    name: `F17a: a cancellation by the developer for ${price} ${isActive ? 'ends nothing' : 'is a refund'}`,
    events: [initial(), cancellation(10, 'DEVELOPER_INITIATED', { price })],
    expected: [[day, U, isActive, status]] satisfies Flow['expected'],
  })),
  {
    name: 'F18: a lifetime purchase lasts until it is refunded',
    events: [
      lifecycle(U, 'NON_RENEWING_PURCHASE', 0, { purchased_day: 0, expiration_day: null }),
      cancellation(40, 'CUSTOMER_SUPPORT', { price: -99, expiration_day: null }),
    ],
    expected: [
      [39, U, true],
      [41, U, false, 'refunded'],
    ],
  },
  {
    name: 'F19: a temporary grant is replaced by the purchase',
    events: [
      {
        type: 'TEMPORARY_ENTITLEMENT_GRANT',
        at: 0,
        app_user_id: U,
        product_id: 'prod_example_pro',
        entitlement_ids: ['pro'],
        transaction_id: 'temp',
        purchased_day: 0,
        expiration_day: 5,
      },
      initial({ at: 0.5, purchased_day: 0.5 }),
    ],
    expected: [
      [1, U, true, 'active'],
      [31, U, false],
    ],
  },
  {
    name: 'F19: a temporary grant lasts a day at most, and ends with its expiration',
    events: [
      {
        type: 'TEMPORARY_ENTITLEMENT_GRANT',
        at: 0,
        app_user_id: U,
        entitlement_ids: ['pro'],
        transaction_id: 'temp',
        purchased_day: 0,
        expiration_day: 5,
      },
      expiration(0.8, 'BILLING_ERROR', { transaction_id: 'temp', original_transaction_id: 'temp' }),
    ],
    expected: [
      [0.5, U, true],
      [0.9, U, false],
    ],
  },
  {
    name: 'F20: a web purchase is redeemed',
    events: [
      lifecycle('$RCAnonymousID:w', 'INITIAL_PURCHASE', 0, {
        store: 'RC_BILLING',
        purchased_day: 0,
        expiration_day: 30,
      }),
      {
        type: 'PURCHASE_REDEEMED',
        at: 1,
        redeemed_from: ['$RCAnonymousID:w'],
        redeemed_by: [U],
        redemption_outcome: 'alias',
      },
    ],
    expected: [[2, U, true, 'active']],
  },
]
