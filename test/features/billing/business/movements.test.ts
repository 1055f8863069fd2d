import { describe, expect, test } from 'bun:test'
import type { TestApp } from '../../../support/app.ts'
import { type EventFixture, lifecycle, ms, purchase } from '../../../support/billing.ts'
import { createFiguresApp, figuresAfter } from '../../../support/business.ts'

/** Day 0 is 1 October 2026. */
const NOVEMBER = 31
const renewal = (from: number, to: number, fields: Record<string, unknown> = {}) =>
  lifecycle('ann', 'RENEWAL', from, {
    purchased_day: from,
    expiration_day: to,
    transaction_id: `R-${from}`,
    ...fields,
  })
const expiration = (at: number) => lifecycle('ann', 'EXPIRATION', at, { expiration_day: at })

async function latest(events: EventFixture[], day: number) {
  await using app = await createFiguresApp()
  const { months } = await figuresAfter(app, events, day)
  return months.at(-1)
}

describe('movements', () => {
  test.each<[name: string, events: EventFixture[], day: number, expected: object]>([
    ['a first payment is new and active', [purchase('ann')], 5, { active: 1, new: 1, churned: 0 }],
    [
      'a renewal changes nothing',
      [purchase('ann'), renewal(30, 61)],
      NOVEMBER,
      { active: 1, new: 0, churned: 0, recovered: 0 },
    ],
    [
      'a subscription that will renew is active for a day longer',
      [purchase('ann', { expiration_day: 31 })],
      NOVEMBER,
      { active: 1, churned: 0 },
    ],
    [
      'a subscription without a renewal churns, even if no event says so',
      [purchase('ann', { expiration_day: 31 })],
      NOVEMBER + 2,
      { active: 0, churned: 1 },
    ],
    [
      'a grace period keeps a subscription active, and a payment within it saves the subscription',
      [
        purchase('ann'),
        lifecycle('ann', 'BILLING_ISSUE', 30, {
          purchased_day: 0,
          expiration_day: 30,
          grace_period_expiration_at_ms: ms(46),
        }),
        renewal(40, 70),
      ],
      45,
      { active: 1, churned: 0, recovered: 0, saved: 1 },
    ],
    [
      'a payment after the end recovers a subscription',
      [purchase('ann', { expiration_day: 31 }), expiration(31), renewal(45, 75)],
      50,
      { active: 1, churned: 1, recovered: 1, new: 0 },
    ],
    [
      'a trial is not active until it is paid for',
      [purchase('ann', { period_type: 'TRIAL', expiration_day: 7, price: 0 })],
      3,
      { active: 0, new: 0, trials: 1, trialStarts: 1, converted: 0 },
    ],
    [
      'a paid trial converts',
      [
        purchase('ann', { period_type: 'TRIAL', expiration_day: 7, price: 0 }),
        renewal(7, 37, { price: 9.99 }),
      ],
      10,
      { active: 1, new: 1, trials: 0, converted: 1 },
    ],
    [
      'a refund ends a subscription on the day of the refund',
      [purchase('ann'), lifecycle('ann', 'REFUND', 10, { purchased_day: 0 })],
      11,
      { active: 0, churned: 1, paid: 9990, refunded: 9990 },
    ],
    [
      'a reversed refund no longer counts',
      [
        purchase('ann'),
        lifecycle('ann', 'REFUND', 10, { purchased_day: 0 }),
        lifecycle('ann', 'REFUND_REVERSED', 12, { purchased_day: 0, expiration_day: 30 }),
      ],
      13,
      { active: 1, churned: 0, refunded: 0 },
    ],
    [
      'a refund of an earlier period reduces the revenue, and the subscription stays active',
      [purchase('ann'), renewal(30, 61), lifecycle('ann', 'REFUND', 35, { purchased_day: 0 })],
      36,
      { active: 1, churned: 0, paid: 0, refunded: 9990 },
    ],
    [
      'a one-time purchase is revenue but not a subscription',
      [purchase('ann', { type: 'NON_RENEWING_PURCHASE', expiration_day: null })],
      5,
      { active: 0, new: 0, paid: 9990 },
    ],
    [
      'granted access is neither revenue nor a subscription',
      [purchase('ann', { store: 'PROMOTIONAL', period_type: 'PROMOTIONAL', price: 0 })],
      5,
      { active: 0, new: 0, unpriced: 0 },
    ],
    [
      'a payment without a price is counted as such',
      [purchase('ann', { price: null })],
      5,
      { active: 1, unpriced: 1, paid: 0 },
    ],
    [
      'a yearly price counts as one twelfth per month',
      [purchase('ann', { price: 120, expiration_day: 365 })],
      5,
      { paid: 120_000, recurring: 10_000 },
    ],
    [
      'a late payment counts as the usual amount per month, even if its period is shorter',
      [
        purchase('ann'),
        lifecycle('ann', 'BILLING_ISSUE', 30, {
          purchased_day: 0,
          expiration_day: 30,
          grace_period_expiration_at_ms: ms(46),
        }),
        renewal(45, 60),
      ],
      50,
      { active: 1, recurring: 9990 },
    ],
    [
      'an extension does not lower the amount per month',
      [purchase('ann'), lifecycle('ann', 'SUBSCRIPTION_EXTENDED', 10, { expiration_day: 120 })],
      45,
      { active: 1, recurring: 9990 },
    ],
    [
      'a purchase shared by a family member does not count',
      [purchase('ann', { is_family_share: true })],
      5,
      { active: 0, new: 0, paid: 0, recurring: 0 },
    ],
  ])('%s', async (_name, events, day, expected) => {
    expect(await latest(events, day)).toMatchObject(expected)
  })
})

describe('a product change on Google Play', () => {
  const google = { store: 'PLAY_STORE', product_id: 'basic' }
  const old = purchase('ann', { ...google, expiration_day: 300 })
  const change = lifecycle('ann', 'PRODUCT_CHANGE', 10, google)
  const changed = (user: string) =>
    purchase(user, {
      ...google,
      at: 10,
      product_id: 'pro',
      purchased_day: 10,
      expiration_day: 310,
      transaction_id: '2000',
      original_transaction_id: '2000',
    })
  const activeIn = async (app: TestApp, events: EventFixture[]) =>
    (await figuresAfter(app, events, 20)).months.at(-1)?.active

  test('ends the old subscription in either order of counting', async () => {
    await using app = await createFiguresApp()
    expect(await activeIn(app, [old, change])).toBe(1)
    expect(await activeIn(app, [changed('ann')])).toBe(1)
  })

  test('ends the old subscription even when the two ids turn out to be one customer', async () => {
    await using app = await createFiguresApp()
    expect(await activeIn(app, [old, change, changed('$anon')])).toBe(2)
    const alias = { type: 'SUBSCRIBER_ALIAS', at: 12, app_user_id: 'ann', aliases: ['$anon'] }
    expect(await activeIn(app, [alias])).toBe(1)
  })

  test('does not end the old subscription once the new one belongs to another customer', async () => {
    await using app = await createFiguresApp()
    expect(await activeIn(app, [old, change, changed('ann')])).toBe(1)
    const moved = { ...changed('bob'), type: 'HOMEPORT_PURCHASE_CLAIMED', at: 15 }
    expect(await activeIn(app, [moved])).toBe(2)
  })
})
