import { expect, test } from 'bun:test'
import {
  assessPurchases,
  computeEntitlements,
} from '../../../../src/features/billing/purchases/access.ts'
import {
  EMPTY_PURCHASE,
  type Purchase,
} from '../../../../src/features/billing/purchases/purchase.ts'
import { ms } from '../../../support/billing.ts'

const NOW = ms(10)
const bought = (fields: Partial<Purchase> = {}): Purchase => ({
  ...EMPTY_PURCHASE,
  productId: 'pro',
  entitlementIds: ['pro'],
  startedAt: ms(0),
  purchasedAt: ms(0),
  expiresAt: ms(30),
  ...fields,
})
const onPlay = (fields: Partial<Purchase>) => bought({ store: 'PLAY_STORE', ...fields })
const changed = (fields: Partial<Purchase> = {}) =>
  onPlay({ productId: 'basic', changedAt: ms(5), pendingProductId: 'pro', ...fields })

test.each<[string, Partial<Purchase>, string, boolean]>([
  ['paid', {}, 'active', true],
  ['in its trial', { periodType: 'TRIAL' }, 'trialing', true],
  ['a lifetime purchase', { expiresAt: null }, 'active', true],
  ['ending at this instant', { expiresAt: NOW }, 'expired', false],
  ['ending a moment later', { expiresAt: NOW + 1 }, 'active', true],
  ['ended early', { endedAt: ms(9) }, 'expired', false],
  ['a lifetime purchase that ended', { expiresAt: null, endedAt: ms(9) }, 'expired', false],
  [
    'in its grace period',
    { expiresAt: ms(9), graceExpiresAt: ms(11), billingIssueDetectedAt: 1 },
    'in_grace_period',
    true,
  ],
  [
    'at the end of its grace period',
    { expiresAt: ms(30), graceExpiresAt: NOW, billingIssueDetectedAt: 1 },
    'in_billing_retry',
    true,
  ],
  [
    'in billing retry without a grace period',
    { billingIssueDetectedAt: ms(9) },
    'in_billing_retry',
    true,
  ],
  [
    'past its grace period',
    { expiresAt: ms(8), graceExpiresAt: ms(9), billingIssueDetectedAt: 1 },
    'expired',
    false,
  ],
  ['paused', { endedAt: ms(9), pausedAt: ms(9) }, 'paused', false],
  ['refunded', { endedAt: ms(9), refundedAt: ms(9), pausedAt: ms(9) }, 'refunded', false],
])('assesses a purchase that is %s', (_name, fields, status, active) => {
  expect(assessPurchases([bought(fields)], NOW)).toMatchObject([{ status, active }])
})

test('ranks purchases: active, later end, higher price, later start', () => {
  const purchases = [
    bought({ productId: 'ended', expiresAt: ms(9), price: 99 }),
    bought({ productId: 'old', price: 5 }),
    bought({ productId: 'new', price: 5, startedAt: ms(1) }),
    bought({ productId: 'expensive', price: 6 }),
    bought({ productId: 'longer', expiresAt: ms(40), price: 1 }),
    bought({ productId: 'lifetime', expiresAt: null, price: 0 }),
  ]
  const expected = ['lifetime', 'longer', 'expensive', 'new', 'old', 'ended']
  for (const order of [purchases, purchases.toReversed()]) {
    expect(assessPurchases(order, NOW).map(({ productId }) => productId)).toEqual(expected)
  }
})

test('an entitlement is active if any purchase grants it, and appears once', () => {
  const purchases = [
    bought({ productId: 'ended', expiresAt: ms(9), entitlementIds: ['gold', 'pro'] }),
    bought({ productId: 'paid' }),
  ]
  const entitlements = computeEntitlements(assessPurchases(purchases, NOW))
  expect(entitlements.map(({ id, active, purchase }) => [id, active, purchase.productId])).toEqual([
    ['gold', false, 'ended'],
    ['pro', true, 'paid'],
  ])
})

test.each<[string, Purchase, Purchase, number | null]>([
  [
    'a purchase replaces a grant from its start',
    bought({ isTemporary: true }),
    bought({ startedAt: ms(2) }),
    ms(2),
  ],
  [
    'a purchase replaces a grant that began later',
    bought({ isTemporary: true, startedAt: ms(2) }),
    bought({ startedAt: ms(1.5) }),
    ms(2),
  ],
  [
    'a purchase long before a grant does not replace it',
    bought({ isTemporary: true, startedAt: ms(2) }),
    bought({ startedAt: ms(0.9) }),
    null,
  ],
  [
    'a grant does not replace another',
    bought({ isTemporary: true }),
    bought({ isTemporary: true, startedAt: ms(1) }),
    null,
  ],
  [
    'a purchase of the named product replaces the changed purchase',
    changed({ changedTo: 'pro' }),
    onPlay({ startedAt: ms(20) }),
    ms(20),
  ],
  [
    'the named product matches a purchase with any base plan',
    changed({ changedTo: 'pro' }),
    onPlay({ productId: 'pro:monthly', startedAt: ms(20) }),
    ms(20),
  ],
  [
    'a purchase of another product does not replace the changed purchase',
    changed({ changedTo: 'other' }),
    onPlay({ startedAt: ms(5) }),
    null,
  ],
  [
    'without a named product, a purchase within a day replaces the changed purchase',
    changed(),
    onPlay({ startedAt: ms(6) }),
    ms(6),
  ],
  [
    'without a named product, a purchase more than a day later does not',
    changed(),
    onPlay({ startedAt: ms(6.1) }),
    null,
  ],
  [
    'coins do not replace the changed purchase',
    changed(),
    onPlay({ productId: 'coins', startedAt: ms(5), expiresAt: null, entitlementIds: [] }),
    null,
  ],
  [
    'coins do not replace a grant',
    bought({ isTemporary: true }),
    bought({ productId: 'coins', startedAt: ms(0.5), expiresAt: null, entitlementIds: [] }),
    null,
  ],
  [
    'a purchase that began with the current period does not replace the changed purchase',
    changed({ changedAt: ms(0.5) }),
    onPlay({ startedAt: ms(0) }),
    null,
  ],
  [
    'a purchase from another store does not replace the changed purchase',
    changed({ changedTo: 'pro' }),
    bought({ startedAt: ms(5) }),
    null,
  ],
  [
    'a changed purchase from a store other than the Play Store is not replaced',
    changed({ store: 'STRIPE', changedTo: 'pro' }),
    onPlay({ startedAt: ms(5) }),
    null,
  ],
])('%s', (_name, replaced, replacement, endedAt) => {
  const [first] = assessPurchases([replaced, replacement], ms(1)).filter(
    ({ startedAt, isTemporary, productId }) =>
      startedAt === replaced.startedAt &&
      isTemporary === replaced.isTemporary &&
      productId === replaced.productId,
  )
  expect(first).toMatchObject(
    endedAt === null
      ? { endedAt, willRenew: true }
      : { endedAt, willRenew: false, pendingProductId: null },
  )
})

test('a changed purchase does not replace itself', () => {
  const renamed = onPlay({
    productId: 'pro',
    changedAt: ms(1),
    changedTo: 'pro',
    startedAt: ms(1),
    purchasedAt: ms(0),
  })
  expect(assessPurchases([renamed], NOW)).toMatchObject([{ endedAt: null, active: true }])
})

test('a purchase that ended before its replacement keeps its end', () => {
  const ended = changed({ changedTo: 'pro', endedAt: ms(6) })
  const [, old] = assessPurchases([ended, onPlay({ startedAt: ms(8) })], NOW)
  expect(old).toMatchObject({ productId: 'basic', endedAt: ms(6) })
})
