import { lifecycle } from '../billing.ts'
import { ANN, BOB, cancellation, expiration, type Flow, initial, play, renewal } from './events.ts'

/** Product changes, pauses, transfers, extensions and grants. */
export const changes: Flow[] = [
  {
    name: 'F11: Apple changes the product immediately',
    events: [
      initial({ entitlement_ids: ['basic'], product_id: 'basic' }),
      lifecycle(ANN, 'PRODUCT_CHANGE', 10, {
        product_id: 'basic',
        new_product_id: 'prod_example_pro',
      }),
      renewal(10, 40),
    ],
    expected: [[11, ANN, true, 'active']],
  },
  {
    name: 'F11: Google changes the product immediately, as a new purchase',
    events: [
      initial({ ...play, entitlement_ids: ['basic'], product_id: 'basic:monthly' }),
      lifecycle(ANN, 'PRODUCT_CHANGE', 10, { ...play, product_id: 'basic:monthly' }),
      lifecycle(ANN, 'INITIAL_PURCHASE', 10, {
        ...play,
        purchased_day: 10,
        expiration_day: 40,
        transaction_id: '2000',
        original_transaction_id: '2000',
      }),
    ],
    expected: [[11, ANN, true, 'active']],
  },
  {
    name: 'F12: a change at the end of the period',
    events: [
      initial({ entitlement_ids: ['gold'], product_id: 'gold' }),
      lifecycle(ANN, 'PRODUCT_CHANGE', 10, {
        product_id: 'gold',
        new_product_id: 'prod_example_pro',
      }),
      renewal(30, 60),
    ],
    expected: [
      [31, ANN, true, 'active'],
      [61, ANN, false],
    ],
  },
  {
    name: 'F13: a pause begins at the end of the period and ends with a renewal',
    events: [
      initial(play),
      lifecycle(ANN, 'SUBSCRIPTION_PAUSED', 10, { ...play, purchased_day: 0, auto_resume_day: 60 }),
      expiration(30, 'SUBSCRIPTION_PAUSED', play),
      renewal(60, 90, play),
    ],
    expected: [[61, ANN, true, 'active']],
  },
  {
    name: 'F13: a paused purchase gives no access',
    events: [
      initial(play),
      lifecycle(ANN, 'SUBSCRIPTION_PAUSED', 10, { ...play, purchased_day: 0, auto_resume_day: 60 }),
      expiration(30, 'SUBSCRIPTION_PAUSED', play),
    ],
    expected: [
      [29, ANN, true],
      [31, ANN, false, 'paused'],
    ],
  },
  {
    name: 'F14: a transfer moves the purchase, and later events name the new owner',
    events: [
      initial(),
      { type: 'TRANSFER', at: 10, transferred_from: [ANN], transferred_to: [BOB] },
      lifecycle(BOB, 'RENEWAL', 30, { purchased_day: 30, expiration_day: 60 }),
    ],
    expected: [
      [31, ANN, false],
      [31, BOB, true, 'active'],
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
        aliases: ['$RCAnonymousID:a', ANN],
      }),
    ],
    expected: [[31, ANN, true, 'active']],
  },
  {
    name: 'F15: the period is extended',
    events: [
      initial(),
      lifecycle(ANN, 'SUBSCRIPTION_EXTENDED', 20, { purchased_day: 0, expiration_day: 37 }),
    ],
    expected: [
      [36, ANN, true, 'active'],
      [38, ANN, false],
    ],
  },
  {
    name: 'F16: a purchase after the end gives access again',
    events: [
      initial(),
      expiration(30, 'UNSUBSCRIBE'),
      lifecycle(ANN, 'INITIAL_PURCHASE', 50, {
        purchased_day: 50,
        expiration_day: 80,
        transaction_id: '2000',
        original_transaction_id: '2000',
      }),
    ],
    expected: [[51, ANN, true, 'active']],
  },
  {
    name: 'F17: a promotion is granted and revoked',
    events: [
      lifecycle(ANN, 'NON_RENEWING_PURCHASE', 0, {
        store: 'PROMOTIONAL',
        period_type: 'PROMOTIONAL',
        purchased_day: 0,
        expiration_day: 90,
      }),
      cancellation(10, 'DEVELOPER_INITIATED', { store: 'PROMOTIONAL', expiration_day: 9.999 }),
      expiration(10.001, 'UNSUBSCRIBE', { store: 'PROMOTIONAL', expiration_day: 9.999 }),
    ],
    expected: [
      [9, ANN, true],
      [11, ANN, false, 'expired'],
    ],
  },
  ...[
    { price: 0, day: 11, isActive: true, status: 'active' },
    { price: -9.99, day: 11, isActive: false, status: 'refunded' },
  ].map(({ price, day, isActive, status }) => ({
    name: `F17a: a developer's cancellation with price ${price} ${isActive ? 'keeps access' : 'is a refund'}`,
    events: [initial(), cancellation(10, 'DEVELOPER_INITIATED', { price })],
    expected: [[day, ANN, isActive, status]] satisfies Flow['expected'],
  })),
  {
    name: 'F18: a lifetime purchase lasts until it is refunded',
    events: [
      lifecycle(ANN, 'NON_RENEWING_PURCHASE', 0, { purchased_day: 0, expiration_day: null }),
      cancellation(40, 'CUSTOMER_SUPPORT', { price: -99, expiration_day: null }),
    ],
    expected: [
      [39, ANN, true],
      [41, ANN, false, 'refunded'],
    ],
  },
  {
    name: 'F19: a temporary grant is replaced by the purchase',
    events: [
      {
        type: 'TEMPORARY_ENTITLEMENT_GRANT',
        at: 0,
        app_user_id: ANN,
        product_id: 'prod_example_pro',
        entitlement_ids: ['pro'],
        transaction_id: 'temp',
        purchased_day: 0,
        expiration_day: 5,
      },
      initial({ at: 0.5, purchased_day: 0.5 }),
    ],
    expected: [
      [1, ANN, true, 'active'],
      [31, ANN, false],
    ],
  },
  {
    name: 'F19: a temporary grant lasts a day at most, and ends with its expiration',
    events: [
      {
        type: 'TEMPORARY_ENTITLEMENT_GRANT',
        at: 0,
        app_user_id: ANN,
        entitlement_ids: ['pro'],
        transaction_id: 'temp',
        purchased_day: 0,
        expiration_day: 5,
      },
      expiration(0.8, 'BILLING_ERROR', { transaction_id: 'temp', original_transaction_id: 'temp' }),
    ],
    expected: [
      [0.5, ANN, true],
      [0.9, ANN, false],
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
        redeemed_by: [ANN],
        redemption_outcome: 'alias',
      },
    ],
    expected: [[2, ANN, true, 'active']],
  },
]
