import { expect, test } from 'bun:test'
import { readEvent } from '../../../../src/features/billing/inbox/event.ts'
import { foldPurchase } from '../../../../src/features/billing/purchases/fold.ts'
import type { Purchase } from '../../../../src/features/billing/purchases/purchase.ts'
import { bodyOf, type EventFixture, lifecycle, ms } from '../../../support/billing.ts'
import {
  ANN,
  cancellation,
  expiration,
  initial,
  issue,
  play,
  renewal,
} from '../../../support/flows/events.ts'

type Case = [name: string, events: EventFixture[], expected: Partial<Purchase>]

const trial = { price: 0, purchased_day: 0, expiration_day: 7 }
const reconciled = (fields = {}) =>
  lifecycle(ANN, 'HOMEPORT_RECONCILED', 20, { purchased_day: 0, expiration_day: 30, ...fields })
const grant = (fields = {}) => ({ ...initial(fields), type: 'TEMPORARY_ENTITLEMENT_GRANT' })
const change = (at: number, product: string | null) =>
  lifecycle(ANN, 'PRODUCT_CHANGE', at, { new_product_id: product })
const refunded = cancellation(5, 'CUSTOMER_SUPPORT', { expiration_day: 4 })

test.each<Case>([
  [
    'a renewal starts a period but keeps the start of the purchase',
    [initial(), renewal(30, 60)],
    { startedAt: ms(0), purchasedAt: ms(30), expiresAt: ms(60), willRenew: true },
  ],
  [
    'a renewal clears the problems of the last period',
    [initial(), issue(29, 40), cancellation(29, 'UNSUBSCRIBE'), renewal(30, 60)],
    { billingIssueDetectedAt: null, graceExpiresAt: null, cancelReason: null },
  ],
  [
    'a renewal keeps the latest product change',
    [initial(), change(10, 'other'), renewal(30, 60)],
    { changedAt: ms(10), changedTo: 'other', pendingProductId: null },
  ],
  [
    'a product change is pending until a period starts',
    [initial(), change(10, 'other')],
    { productId: 'prod_example_pro', pendingProductId: 'other' },
  ],
  [
    'a change to the current product is not pending',
    [initial(), change(10, 'prod_example_pro')],
    { pendingProductId: null, changedTo: 'prod_example_pro' },
  ],
  ['a prepaid period does not renew', [initial({ period_type: 'PREPAID' })], { willRenew: false }],
  ['a promotion does not renew', [initial({ period_type: 'PROMOTIONAL' })], { willRenew: false }],
  [
    'a one-off purchase does not renew',
    [lifecycle(ANN, 'NON_RENEWING_PURCHASE', 0, { purchased_day: 0 })],
    { willRenew: false },
  ],
  [
    'an unsubscription is recorded with its time',
    [initial(), cancellation(5, 'UNSUBSCRIBE')],
    { willRenew: false, cancelReason: 'UNSUBSCRIBE', unsubscribeDetectedAt: ms(5) },
  ],
  [
    'other cancellations are not unsubscriptions',
    [initial(), cancellation(5, 'PRICE_INCREASE')],
    { willRenew: false, unsubscribeDetectedAt: null, endedAt: null },
  ],
  [
    'an uncancellation reverts an unsubscription',
    [initial(), cancellation(5, 'UNSUBSCRIBE'), lifecycle(ANN, 'UNCANCELLATION', 6)],
    { willRenew: true, cancelReason: null, unsubscribeDetectedAt: null },
  ],
  [
    'a cancellation may move the end',
    [initial(), cancellation(5, 'DEVELOPER_INITIATED', { price: 0, expiration_day: 5 })],
    { expiresAt: ms(5), refundedAt: null, endedAt: null },
  ],
  [
    'a cancellation of a period that had ended changes nothing',
    [initial(), renewal(30, 60), cancellation(31, 'UNSUBSCRIBE')],
    { expiresAt: ms(60), willRenew: true, cancelReason: null },
  ],
  [
    'a cancellation after a failed payment keeps the end and the time of the issue',
    [initial(), issue(29, null), cancellation(30, 'BILLING_ERROR', { expiration_day: 10 })],
    { expiresAt: ms(30), billingIssueDetectedAt: ms(29), cancelReason: 'BILLING_ERROR' },
  ],
  [
    'a billing issue extends the period and sets the grace period',
    [initial(), issue(29, 46, { expiration_day: 40 })],
    { expiresAt: ms(40), graceExpiresAt: ms(46), billingIssueDetectedAt: ms(29) },
  ],
  [
    'a billing issue never shortens the period',
    [initial(), issue(29, 46, { expiration_day: 20 })],
    { expiresAt: ms(30) },
  ],
  [
    'an extension never shortens the period',
    [initial(), lifecycle(ANN, 'SUBSCRIPTION_EXTENDED', 5, { expiration_day: 20 })],
    { expiresAt: ms(30) },
  ],
  [
    'an extension of a lifetime purchase changes nothing',
    [
      { ...initial({ expiration_day: null }), type: 'NON_RENEWING_PURCHASE' },
      lifecycle(ANN, 'SUBSCRIPTION_EXTENDED', 5, { expiration_day: 20 }),
    ],
    { expiresAt: null },
  ],
  ['a refund ends the purchase at its reported end', [initial(), refunded], { endedAt: ms(4) }],
  [
    'a refund ends the purchase no later than the refund itself',
    [initial(), cancellation(5, 'CUSTOMER_SUPPORT')],
    { endedAt: ms(5), refundedAt: ms(5), cancelReason: 'CUSTOMER_SUPPORT' },
  ],
  [
    'a refund of the current period ends it even after a renewal',
    [
      initial(),
      renewal(30, 60),
      cancellation(35, 'CUSTOMER_SUPPORT', { purchased_day: 30, expiration_day: 60 }),
    ],
    { endedAt: ms(35) },
  ],
  [
    'a refund of an earlier period does not end access',
    [initial(), renewal(30, 60), cancellation(35, 'CUSTOMER_SUPPORT')],
    { endedAt: null, refundedAt: null },
  ],
  [
    'the legacy type REFUND is a refund',
    [initial(), lifecycle(ANN, 'REFUND', 5, { purchased_day: 0 })],
    { endedAt: ms(5), refundedAt: ms(5), cancelReason: 'CUSTOMER_SUPPORT' },
  ],
  [
    'a cancellation by the developer with a negative price is a refund',
    [initial(), cancellation(5, 'DEVELOPER_INITIATED', { price: -1 })],
    { refundedAt: ms(5) },
  ],
  [
    'a cancellation by the developer without a price is not a refund',
    [initial(), cancellation(5, 'DEVELOPER_INITIATED', { price: null })],
    { refundedAt: null },
  ],
  [
    'a reversed refund restores end and entitlements',
    [
      initial(),
      refunded,
      lifecycle(ANN, 'REFUND_REVERSED', 8, { expiration_day: 30, entitlement_ids: ['gold'] }),
    ],
    {
      refundedAt: null,
      endedAt: null,
      cancelReason: null,
      expiresAt: ms(30),
      entitlementIds: ['gold'],
    },
  ],
  [
    'a reversed refund without entitlements keeps the existing ones',
    [initial(), refunded, lifecycle(ANN, 'REFUND_REVERSED', 8, { entitlement_ids: null })],
    { entitlementIds: ['pro'] },
  ],
  [
    'a reversed refund without an end keeps the known one',
    [initial(), refunded, lifecycle(ANN, 'REFUND_REVERSED', 8, {})],
    { expiresAt: ms(30), refundedAt: null },
  ],
  [
    'a reversed refund of an earlier period changes nothing',
    [
      initial(),
      renewal(30, 60),
      lifecycle(ANN, 'REFUND_REVERSED', 38, { purchased_day: 0, expiration_day: 30 }),
    ],
    { purchasedAt: ms(30), expiresAt: ms(60), endedAt: null },
  ],
  [
    'a late payment problem of an earlier period changes nothing',
    [
      initial(),
      renewal(30, 60),
      lifecycle(ANN, 'BILLING_ISSUE', 31, { purchased_day: 0, expiration_day: 30 }),
      cancellation(31, 'BILLING_ERROR', { purchased_day: 0, expiration_day: 30 }),
    ],
    { billingIssueDetectedAt: null, cancelReason: null, willRenew: true },
  ],
  [
    'a reconciliation about an earlier period changes nothing',
    [initial(), renewal(30, 60), { ...reconciled(), event_timestamp_ms: ms(40) }],
    { purchasedAt: ms(30), expiresAt: ms(60) },
  ],
  [
    'an expiration ends the purchase once',
    [initial(), expiration(20, 'UNKNOWN'), expiration(25, 'UNKNOWN')],
    { endedAt: ms(20), willRenew: false, pausedAt: null },
  ],
  [
    'an expiration of an earlier period does not end access',
    [initial(), renewal(30, 60), expiration(31, 'UNKNOWN')],
    { endedAt: null, willRenew: true },
  ],
  [
    'an expiration because of a pause keeps the time at which the pause ends',
    [
      initial(play),
      lifecycle(ANN, 'SUBSCRIPTION_PAUSED', 10, { ...play, auto_resume_day: 60 }),
      expiration(30, 'SUBSCRIPTION_PAUSED', play),
    ],
    { pausedAt: ms(30), autoResumeAt: ms(60), endedAt: ms(30) },
  ],
  ['a temporary grant lasts a day at most', [grant()], { expiresAt: ms(1), willRenew: false }],
  ['a temporary grant may be shorter', [grant({ expiration_day: 0.5 })], { expiresAt: ms(0.5) }],
  [
    'a temporary grant without an end lasts a day',
    [grant({ expiration_day: null })],
    { expiresAt: ms(1), isTemporary: true },
  ],
  [
    'a temporary grant does not change a purchase',
    [initial(), { ...grant(), at: 5 }],
    { expiresAt: ms(30), willRenew: true, isTemporary: false },
  ],
  [
    'a purchase replaces a temporary grant of the same key',
    [grant(), { ...initial(), at: 0.5 }],
    { expiresAt: ms(30), isTemporary: false },
  ],
  [
    'reconciliation replaces the period and keeps start, price and product change',
    [
      initial({ price_id: 'p' }),
      change(10, null),
      reconciled({ purchased_day: 10, expiration_day: 40, price: null }),
    ],
    {
      startedAt: ms(0),
      purchasedAt: ms(10),
      expiresAt: ms(40),
      price: 9.99,
      priceId: 'p',
      changedAt: ms(10),
      willRenew: true,
      endedAt: null,
      pausedAt: null,
    },
  ],
  [
    'a reconciled prepaid purchase keeps the entitlements of its product and does not renew',
    [initial(), reconciled({ entitlement_ids: [], period_type: 'PREPAID' })],
    { entitlementIds: ['pro'], willRenew: false },
  ],
  [
    'a reconciled refund ends the purchase',
    [initial(), reconciled({ refunded_at_ms: ms(15) })],
    { refundedAt: ms(15), endedAt: ms(15) },
  ],
  [
    'a purchase with a reconciled unsubscription does not renew',
    [initial(), reconciled({ unsubscribe_detected_at_ms: ms(15) })],
    { willRenew: false, unsubscribeDetectedAt: ms(15) },
  ],
  [
    'a purchase with a reconciled billing issue does not renew',
    [
      initial(),
      reconciled({
        billing_issues_detected_at_ms: ms(15),
        grace_period_expiration_at_ms: ms(40),
      }),
    ],
    { willRenew: false, billingIssueDetectedAt: ms(15), graceExpiresAt: ms(40) },
  ],
  [
    'reconciliation records a pause',
    [initial(), reconciled({ auto_resume_at_ms: ms(60) })],
    { pausedAt: ms(20), autoResumeAt: ms(60) },
  ],
  [
    'the first known event describes the purchase',
    [cancellation(5, 'UNSUBSCRIBE', trial)],
    { purchasedAt: ms(0), expiresAt: ms(7), entitlementIds: ['pro'], startedAt: ms(0) },
  ],
])('%s', (_name, events, expected) => {
  expect(foldPurchase(events.map(ordered))).toMatchObject(expected)
})

function ordered(fixture: EventFixture, at: number) {
  const event = readEvent(bodyOf({ ...fixture, id: `E-${at}` }), Buffer.from(''))
  if (!event) throw new Error('the fixture has no event')
  return { ...event, orderedAt: ms(fixture.at) }
}
