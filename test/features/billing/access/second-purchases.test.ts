import { expect, test } from 'bun:test'
import { serverClient } from '../../../support/api-keys.ts'
import { createTestApp, type TestApp } from '../../../support/app.ts'
import { deliver, iso, lifecycle, ms, purchase } from '../../../support/billing.ts'
import { signInOperator } from '../../../support/operator.ts'
import { publishPlans } from '../../../support/plans.ts'

const PRO = {
  code: 'pro',
  paymentProductId: 'prod_example_pro',
  entitlementIds: ['pro'],
  price: 9.99,
  limits: { exports: 100 },
}

test.each([
  ['coins', { entitlement_ids: [], expiration_day: null }],
  ['a one-time product', { entitlement_ids: ['no_ads'], expiration_day: null }],
  ['an add-on that lasts longer', { entitlement_ids: ['stickers'], expiration_day: 366 }],
])('buying %s without a plan does not replace the paid plan', async (_name, fields) => {
  await using app = await createTestApp()
  const { read, use, buy } = await setUp(app)
  const { resetsAt } = await use(60)
  await buy(fields)
  const { plan, entitlements } = await read()
  expect(plan.code).toBe('pro')
  expect(entitlements.find(({ id }: { id: string }) => id === 'pro').active).toBe(true)
  expect(await use(1)).toMatchObject({ allowed: true, used: 61, limit: 100, resetsAt })
})

test('a purchase without a plan does not move the usage month of a free user', async () => {
  await using app = await createTestApp()
  const { use, buy } = await setUp(app, { isFree: true })
  const { resetsAt } = await use(2)
  await buy({ entitlement_ids: [], expiration_day: null })
  expect(await use(1)).toMatchObject({ used: 3, resetsAt })
})

test('an entitlement ends with the purchase that gives it the longest', async () => {
  await using app = await createTestApp()
  const { read, buy } = await setUp(app)
  await buy({ entitlement_ids: ['pro'], expiration_day: 366 })
  const { plan, entitlements } = await read()
  expect([plan.code, entitlements[0].expiresAt]).toEqual(['pro', iso(366)])
})

test('coins do not replace a granted plan that costs nothing', async () => {
  await using app = await createTestApp()
  const { userId, read, buy } = await setUp(app, { isFree: true })
  const vip = { code: 'vip', price: 0, entitlementIds: ['vip'] }
  await publishPlans(app, [{ code: 'free' }, vip])
  const grant = { entitlementId: 'vip', until: iso(300), by: 'ann', reason: 'staff' }
  await app.services.grants.create({ ...grant, userId })
  await buy({ entitlement_ids: [], expiration_day: null })
  expect((await read()).plan.code).toBe('vip')
})

test('an entitlement shows the purchase that renews, not the granted access alongside it', async () => {
  await using app = await createTestApp()
  const { userId, read } = await setUp(app)
  const grant = { entitlementId: 'pro', until: iso(300), by: 'ann', reason: 'thanks' }
  await app.services.grants.create({ ...grant, userId })
  expect((await read()).entitlements).toMatchObject([{ id: 'pro', store: 'APP_STORE' }])
})

test('existing subscribers keep an archived plan, unless a plan on sale includes the product', async () => {
  await using app = await createTestApp()
  const { read, use } = await setUp(app)
  app.clock.advance(1000)
  await app.services.plans.archive('pro')
  expect((await read()).plan.code).toBe('pro')
  expect(await use(1)).toMatchObject({ allowed: true, limit: 100 })
  expect((await app.ask('GET', '/api/user/pricing_plans/v1')).json.response.map(codeOf)).toEqual([
    'free',
  ])
  await publishPlans(app, [{ code: 'free' }, { ...PRO, code: 'pro_2', limits: { exports: 7 } }])
  expect((await read()).plan.code).toBe('pro_2')
  expect((await use(1)).limit).toBe(7)
})

test('the more expensive of two plans in different currencies counts', async () => {
  await using app = await createTestApp()
  const { read, buy } = await setUp(app)
  const yen = { code: 'yen', paymentProductId: 'yen', price: 1000, currency: 'jpy' }
  await publishPlans(app, [{ code: 'free' }, PRO, yen])
  await buy({ product_id: 'yen', entitlement_ids: [], expiration_day: 30 })
  expect((await read()).plan.code).toBe('pro')
  await publishPlans(app, [{ code: 'free' }, PRO, { ...yen, price: 10_000 }])
  expect((await read()).plan.code).toBe('yen')
})

/** A user with the plan `pro` until day 30. */
async function setUp(app: TestApp, { isFree = false } = {}) {
  app.clock.now = new Date(ms(11))
  await publishPlans(app, [{ code: 'free', limits: { exports: 10 } }, PRO])
  const { user, accessToken: token } = await app.register()
  const ask = await serverClient(app)
  const use = async (amount: number) => {
    const json = { userId: user._id, limit: 'exports', amount }
    return (await ask('POST', 'usage/v1', { json })).json.response
  }
  const read = async () =>
    (await app.ask('GET', '/api/user/subscription/v1', { token })).json.response
  const buy = (fields: object) =>
    deliver(
      app,
      lifecycle(user._id, 'NON_RENEWING_PURCHASE', 10, {
        ...{ product_id: 'other', transaction_id: '2000', original_transaction_id: '2000' },
        purchased_day: 10,
        ...fields,
      }),
    )
  if (!isFree) await deliver(app, purchase(user._id, {}))
  return { userId: user._id, read, use, buy }
}

function codeOf({ code }: { code: string }) {
  return code
}

test('coins do not keep an ended subscription active for webhooks and the console', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user } = await app.register()
  await deliver(app, purchase(user._id))
  app.clock.now = new Date(ms(10))
  const coins = { product_id: 'coins', entitlement_ids: null, price: 1.99 }
  const bought = { purchased_day: 10, expiration_day: null, transaction_id: 'C-1' }
  await deliver(
    app,
    lifecycle(user._id, 'NON_RENEWING_PURCHASE', 10, {
      ...coins,
      ...bought,
      original_transaction_id: 'C-1',
    }),
  )
  app.clock.now = new Date(ms(31))
  await deliver(
    app,
    lifecycle(user._id, 'EXPIRATION', 31, { expiration_day: 30, expiration_reason: 'UNSUBSCRIBE' }),
  )
  const { db } = app.services
  const [row] = await db.read.select().from(db.tables.accessStates)
  expect(row).toMatchObject({
    status: 'expired',
    plan: null,
    state: { active: false, productId: 'prod_example_pro', status: 'expired', expiresAt: iso(30) },
  })
  const ann = await signInOperator(app)
  const { access } = await ann.read(`people/${user._id}`)
  expect(access).toMatchObject({ status: 'expired', isActive: false, plan: null })
})

test('coins that were refunded do not make a user a former subscriber', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user } = await app.register()
  const coins = { product_id: 'coins', entitlement_ids: null, expiration_day: null }
  await deliver(app, lifecycle(user._id, 'NON_RENEWING_PURCHASE', 1, coins))
  await deliver(
    app,
    lifecycle(user._id, 'CANCELLATION', 2, { ...coins, cancel_reason: 'CUSTOMER_SUPPORT' }),
  )
  const { db } = app.services
  const [row] = await db.read.select().from(db.tables.accessStates)
  expect(row).toMatchObject({ status: null, state: { active: false, productId: null } })
})
