import { describe, expect, test } from 'bun:test'
import { entitlementsOf, standingAt } from '../src/features/billing/access.ts'
import { readEvent } from '../src/features/billing/event.ts'
import { createTestApp, type TestApp } from './support/app.ts'
import { bodyOf, deliver, lifecycle, ms, permutations, T0, type Told } from './support/billing.ts'

const U = 'user-1'
const V = 'user-2'

/** At `day` the user has access to `pro` or not, and the best line has this status. */
type Expected = [day: number, user: string, access: boolean, status?: string]
type Flow = { name: string; events: Told[]; expected: Expected[] }

const initial = (fields = {}) =>
  lifecycle(U, 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30, ...fields })
const renewal = (at: number, until: number, fields = {}) =>
  lifecycle(U, 'RENEWAL', at, { purchased_day: at, expiration_day: until, ...fields })
const cancellation = (at: number, reason: string, fields = {}) =>
  lifecycle(U, 'CANCELLATION', at, {
    cancel_reason: reason,
    purchased_day: 0,
    expiration_day: 30,
    ...fields,
  })
const expiration = (at: number, reason: string, fields = {}) =>
  lifecycle(U, 'EXPIRATION', at, {
    expiration_reason: reason,
    purchased_day: 0,
    expiration_day: at,
    ...fields,
  })
const issue = (at: number, grace: number | null, fields = {}) =>
  lifecycle(U, 'BILLING_ISSUE', at, {
    purchased_day: 0,
    expiration_day: 30,
    grace_period_expiration_at_ms: grace === null ? null : ms(grace),
    ...fields,
  })
const play = { store: 'PLAY_STORE' }

const flows: Flow[] = [
  {
    name: 'F1: a trial converts, is cancelled and expires',
    events: [
      initial({ period_type: 'TRIAL', expiration_day: 7, price: 0 }),
      renewal(7, 37, { is_trial_conversion: true }),
      cancellation(10, 'UNSUBSCRIBE', { purchased_day: 7, expiration_day: 37 }),
      expiration(37, 'UNSUBSCRIBE', { purchased_day: 7 }),
    ],
    expected: [
      [36, U, true],
      [38, U, false, 'expired'],
    ],
  },
  {
    name: 'F2: a trial is cancelled, and comes back as a renewal',
    events: [
      initial({ period_type: 'TRIAL', expiration_day: 7 }),
      cancellation(3, 'UNSUBSCRIBE', { expiration_day: 7 }),
      expiration(7, 'UNSUBSCRIBE'),
      renewal(60, 90),
    ],
    expected: [
      [61, U, true, 'active'],
      [91, U, false, 'expired'],
    ],
  },
  {
    name: 'F3: a cancellation is taken back',
    events: [initial(), cancellation(5, 'UNSUBSCRIBE'), lifecycle(U, 'UNCANCELLATION', 6)],
    expected: [
      [7, U, true, 'active'],
      [31, U, false],
    ],
  },
  {
    name: 'F4: a billing issue with grace recovers',
    events: [initial(), issue(30, 46), cancellation(30, 'BILLING_ERROR'), renewal(40, 70)],
    expected: [
      [41, U, true, 'active'],
      [71, U, false],
    ],
  },
  {
    name: 'F5: a billing issue with grace fails, and recovers later',
    events: [
      initial(),
      issue(30, 46),
      cancellation(30, 'BILLING_ERROR'),
      expiration(46, 'BILLING_ERROR', { expiration_day: 30 }),
      renewal(50, 80),
    ],
    expected: [
      [51, U, true, 'active'],
      [81, U, false],
    ],
  },
  {
    name: 'F5: access lasts until the end of the grace period',
    events: [initial(), issue(30, 46), cancellation(30, 'BILLING_ERROR')],
    expected: [
      [29, U, true],
      [45, U, true, 'in_grace_period'],
      [47, U, false, 'expired'],
    ],
  },
  {
    name: 'F6: a billing issue without grace ends at once',
    events: [
      initial(),
      issue(30, null),
      cancellation(30, 'BILLING_ERROR'),
      expiration(30, 'BILLING_ERROR'),
    ],
    expected: [[30.1, U, false, 'expired']],
  },
  {
    name: 'F7: Stripe moves the end with the issue, and expires before the date',
    events: [
      initial({ store: 'STRIPE' }),
      issue(30, null, { store: 'STRIPE', expiration_day: 60 }),
      cancellation(30, 'BILLING_ERROR', { store: 'STRIPE', expiration_day: 60 }),
      renewal(33, 60, { store: 'STRIPE', purchased_day: 30 }),
      cancellation(40, 'UNSUBSCRIBE', { store: 'STRIPE', purchased_day: 30, expiration_day: 60 }),
      expiration(41, 'UNSUBSCRIBE', { store: 'STRIPE', purchased_day: 30, expiration_day: 60 }),
    ],
    expected: [[42, U, false, 'expired']],
  },
  {
    name: 'F7: Stripe keeps access while it tries again',
    events: [
      initial({ store: 'STRIPE' }),
      issue(30, null, { store: 'STRIPE', expiration_day: 60 }),
      cancellation(30, 'BILLING_ERROR', { store: 'STRIPE', expiration_day: 60 }),
    ],
    expected: [[31, U, true, 'in_billing_retry']],
  },
  {
    name: 'F8: a refund ends access now, and a renewal gives it back',
    events: [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { price: -9.99, expiration_day: 4.99 }),
      renewal(35, 65),
    ],
    expected: [[36, U, true, 'active']],
  },
  {
    name: 'F8: a refund with its expiration',
    events: [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { price: -9.99, expiration_day: 4.99 }),
      expiration(5.01, 'CUSTOMER_SUPPORT', { expiration_day: 4.99 }),
    ],
    expected: [
      [4, U, true],
      [6, U, false, 'refunded'],
    ],
  },
  {
    name: 'F9: a refund is reversed',
    events: [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { expiration_day: 4.99 }),
      lifecycle(U, 'REFUND_REVERSED', 8, { purchased_day: 0, expiration_day: 30 }),
    ],
    expected: [
      [9, U, true, 'active'],
      [31, U, false],
    ],
  },
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
    name: 'F11: Google changes the product at once, as a new line',
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
    name: 'F13: a pause begins at the end of the period and is over with a renewal',
    events: [
      initial(play),
      lifecycle(U, 'SUBSCRIPTION_PAUSED', 10, { ...play, purchased_day: 0, auto_resume_day: 60 }),
      expiration(30, 'SUBSCRIPTION_PAUSED', play),
      renewal(60, 90, play),
    ],
    expected: [[61, U, true, 'active']],
  },
  {
    name: 'F13: while it is paused there is no access',
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
    name: 'F14: a transfer moves the line, and what follows names the new owner',
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
    name: 'F14b: an anonymous purchase becomes the user’s with the next event',
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
    name: 'F16: who comes back after the end has access again',
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
    name: 'F17: a promotion is given and taken back',
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
  {
    name: 'F18: a lifetime purchase is for ever, until it is refunded',
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
  {
    name: 'X4: a late expiration of the last period does not end this one',
    events: [
      initial(),
      renewal(30, 60),
      expiration(30.01, 'BILLING_ERROR', { purchased_day: 0, expiration_day: 30 }),
    ],
    expected: [[31, U, true, 'active']],
  },
  {
    name: 'X5: three events of one instant do not end as healthy',
    events: [initial(), issue(0, null), cancellation(0, 'BILLING_ERROR')],
    expected: [[1, U, true, 'in_billing_retry']],
  },
  {
    name: 'X7: a second line keeps the entitlement when the first one ends',
    events: [
      initial(),
      lifecycle(U, 'NON_RENEWING_PURCHASE', 5, {
        purchased_day: 5,
        expiration_day: 100,
        transaction_id: '2000',
        original_transaction_id: '2000',
      }),
      expiration(30, 'UNSUBSCRIBE'),
    ],
    expected: [[31, U, true]],
  },
  {
    name: 'X8: an expiration that names no entitlement ends only its own line',
    events: [
      initial(),
      lifecycle(U, 'EXPIRATION', 6, {
        entitlement_ids: null,
        transaction_id: '2000',
        original_transaction_id: '2000',
        purchased_day: 1,
        expiration_day: 6,
      }),
    ],
    expected: [[7, U, true]],
  },
  {
    name: 'X9: a sandbox purchase gives nothing in production',
    events: [initial({ environment: 'SANDBOX' })],
    expected: [[1, U, false]],
  },
  {
    name: '90, X10: an unknown type and an unknown store do no harm',
    events: [
      initial({ store: 'GALAXY', novel: { deep: true } }),
      { type: 'NEWS', at: 2, app_user_id: U },
    ],
    expected: [[3, U, true, 'active']],
  },
]

describe('X1, X2, X3, X12: in every order, with every event twice, the end is the same', () => {
  test.each(flows.map((flow) => [flow.name, flow] as const))(
    '%s',
    async (_name, { events, expected }) => {
      await using app = await createTestApp()
      app.clock.now = new Date(ms(200))
      let first: string | null = null
      const orders = [...permutations(events.map((event, at) => ({ ...event, id: `E-${at}` })))]
      for (const order of orders) {
        await forgetAll(app)
        for (const event of order) await deliver(app, event)
        for (const event of order) expect(await deliver(app, event)).toBe('duplicate')
        const state = await stateOf(app)
        first ??= state
        expect(state).toBe(first)
      }
      for (const [day, user, access, status] of expected) {
        const seen = await accessOf(app, user, day)
        expect([day, user, seen.access]).toEqual([day, user, access])
        if (status) expect(`${day} ${seen.status}`).toBe(`${day} ${status}`)
      }
      // X11: the log folded again from nothing is the same, byte for byte.
      await forgetState(app)
      await app.services.rebuildBilling(AbortSignal.timeout(10_000))
      expect(await stateOf(app)).toBe(first ?? '')
      const report = await app.services.rebuildBilling(AbortSignal.timeout(10_000))
      expect(report.changed).toEqual([])
    },
    60_000,
  )
})

/** Whether `user` may use `pro` at `day`, judged by the pure steps over what is stored. */
async function accessOf(app: TestApp, user: string, day: number) {
  const { db, projection } = app.services
  const { billingAliases } = db.tables
  const aliases = await db.read.select().from(billingAliases)
  const customerId = aliases.find(({ appUserId }) => appUserId === user)?.customerId ?? user
  const lines = standingAt(await projection.linesOf(customerId, 'PRODUCTION'), ms(day))
  const pro = entitlementsOf(lines).find(({ id }) => id === 'pro')
  return { access: pro?.active ?? false, status: lines[0]?.status }
}

/** The whole derived state as text. */
async function stateOf(app: TestApp): Promise<string> {
  const { db } = app.services
  const { subscriptions, billingAliases } = db.tables
  return JSON.stringify([
    await db.read.select().from(subscriptions).orderBy(subscriptions.lineKey),
    await db.read.select().from(billingAliases).orderBy(billingAliases.appUserId),
  ])
}

async function forgetAll(app: TestApp) {
  const { db } = app.services
  await forgetState(app)
  await db.write(async (tx) => void (await tx.delete(db.tables.billingEvents)))
}

async function forgetState(app: TestApp) {
  const { db } = app.services
  const { subscriptions, billingAliases, lineHolders, transferIds } = db.tables
  await db.write(async (tx) => {
    for (const table of [subscriptions, billingAliases, lineHolders, transferIds])
      await tx.delete(table)
  })
}

test('X6: an expiration that never comes is no need: the date decides', async () => {
  await using app = await createTestApp()
  await deliver(app, initial())
  expect((await accessOf(app, U, 29)).access).toBe(true)
  expect((await accessOf(app, U, 30.1)).access).toBe(false)
})

test('92: an event of the past that comes late takes its place and rolls nothing back', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(200))
  for (const event of [renewal(30, 60), cancellation(5, 'UNSUBSCRIBE'), initial()])
    await deliver(app, event)
  expect(await accessOf(app, U, 31)).toEqual({ access: true, status: 'active' })
})

test('F10: a refund of an older period changes nothing', async () => {
  await using app = await createTestApp()
  for (const event of [initial(), renewal(30, 60), cancellation(35, 'CUSTOMER_SUPPORT')])
    await deliver(app, event)
  expect(await accessOf(app, U, 36)).toEqual({ access: true, status: 'active' })
})

test('91: a time of the year 4466 counts as the time of receipt, and stops nothing', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const event = { ...bodyOf(initial()).event, id: 'far', event_timestamp_ms: 78_789_789_798_798 }
  await deliver(app, { event })
  await deliver(app, cancellation(2, 'CUSTOMER_SUPPORT', { expiration_day: 2 }))
  expect((await accessOf(app, U, 3)).access).toBe(false)
  const [kept] = await app.services.db.read.select().from(app.services.db.tables.billingEvents)
  expect([kept?.orderedAt ?? null, kept?.clockIsOff ?? null]).toEqual([ms(1), true])
})

test('every field is read tolerantly', () => {
  const odd = {
    type: 'RENEWAL',
    aliases: [1, null, 'a'],
    entitlement_ids: 'pro',
    price: '9',
    expiration_at_ms: '1',
  }
  const event = readEvent({ event: odd }, Buffer.from('x'))
  expect(event).toMatchObject({ aliases: ['a'], entitlementIds: [], price: null, expiresAt: null })
  expect(
    readEvent({ event: { type: 'X', entitlement_id: 'old' } }, Buffer.from('x'))?.entitlementIds,
  ).toEqual(['old'])
  expect(T0).toBeGreaterThan(0)
})
