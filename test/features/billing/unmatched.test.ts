import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { deliver, ms, purchase } from '../../support/billing.ts'
import { count, createFiguresApp } from '../../support/business.ts'
import { signInOperator } from '../../support/operator.ts'
import { publishPlans } from '../../support/plans.ts'

const PATH = '/api/user/subscription/v1'

test('a plan with the base plan of a product takes precedence over one with the product alone', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { accessToken, user } = await app.register()
  await publishPlans(app, [
    { code: 'month', paymentProductId: 'pro', otherProductIds: ['pro:monthly'] },
    { code: 'year', paymentProductId: 'pro_year', otherProductIds: ['pro:yearly'] },
  ])
  await deliver(app, purchase(user._id, { product_id: 'pro:yearly', store: 'PLAY_STORE' }))
  const { plan } = (await app.ask('GET', PATH, { token: accessToken })).json.response
  expect(plan.code).toBe('year')
})

test('warns once about a product without a plan, and lists it until one includes it', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { accessToken, user } = await app.register()
  await deliver(app, purchase(user._id, { product_id: 'lost_product', entitlement_ids: ['gold'] }))
  const planCode = async () =>
    (await app.ask('GET', PATH, { token: accessToken })).json.response.plan.code
  expect([await planCode(), await planCode()]).toEqual(['free', 'free'])
  const warnings = app.lines.filter((line) => line.includes('does not belong to any plan'))
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('lost_product')
  const operator = await signInOperator(app)
  const listProducts = async () =>
    (await operator.read('overview')).events.unmatchedProducts.map(
      ({ productId }: { productId: string }) => productId,
    )
  expect(await listProducts()).toEqual(['lost_product'])
  expect(await app.services.listUnmatched()).toMatchObject([
    {
      productId: 'lost_product',
      entitlementIds: ['gold'],
      unlocks: true,
      lines: 1,
      customerId: user._id,
    },
  ])
  app.clock.now = new Date(ms(31))
  expect(await app.services.listUnmatched()).toEqual([])
  app.clock.now = new Date(ms(1))
  const [free, month, year] = await app.services.plans.list()
  await app.services.plans.publish([free, { ...month, otherProductIds: ['lost_product'] }, year])
  expect(await planCode()).toBe('pro_month')
  expect(await listProducts()).toEqual([])
  expect(await app.services.listUnmatched()).toEqual([])
})

test('lists a paid product that unlocks nothing first, even after a restart', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const [first, second] = [await app.register(), await app.register()]
  await deliver(
    app,
    purchase(first.user._id, { product_id: 'gold_only', entitlement_ids: ['gold'] }),
  )
  const locked = { product_id: 'locked', entitlement_ids: null, original_transaction_id: '2000' }
  await deliver(app, purchase(second.user._id, { ...locked, transaction_id: '2000' }))
  const expected = [
    { productId: 'locked', entitlementIds: [], unlocks: false, lines: 1 },
    { productId: 'gold_only', entitlementIds: ['gold'], unlocks: true, lines: 1 },
  ]
  expect(await app.services.listUnmatched()).toMatchObject(expected)
  await app.restart()
  expect(await app.services.listUnmatched()).toMatchObject(expected)
  const [metric] = await app.services.metrics.read('homeport_billing_products_unlocking_nothing')
  expect(metric?.value).toBe(1)
})

test('counts every active purchase of a product without a plan, including trials', async () => {
  await using app = await createFiguresApp()
  app.clock.now = new Date(ms(1))
  for (const at of [0, 1, 2]) {
    const fields = {
      product_id: 'locked',
      entitlement_ids: null,
      period_type: at === 0 ? 'TRIAL' : 'NORMAL',
    }
    const id = `300${at}`
    await deliver(
      app,
      purchase(`user ${at}`, { ...fields, transaction_id: id, original_transaction_id: id }),
    )
  }
  await count(app)
  expect(await app.services.listUnmatched()).toMatchObject([{ productId: 'locked', lines: 3 }])
})

test('finds products of purchases from before products were remembered', async () => {
  await using app = await createFiguresApp()
  app.clock.now = new Date(ms(1))
  await deliver(app, purchase('someone', { product_id: 'locked', entitlement_ids: null }))
  const { db, counting, listUnmatched } = app.services
  await db.write(async (tx) => void (await tx.delete(db.tables.purchasedOffers)))
  app.clock.now = new Date(ms(2))
  await counting.rebuild(new AbortController().signal)
  expect(await listUnmatched()).toMatchObject([{ productId: 'locked', customerId: 'someone' }])
})

test('lists a product whose newest purchase was refunded, once it is bought again', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const locked = { product_id: 'locked', entitlement_ids: null }
  await deliver(app, purchase('ann', locked))
  const refund = { type: 'EXPIRATION', at: 0.5, purchased_day: 0, expiration_day: 0.5 }
  await deliver(app, { ...purchase('ann', locked), ...refund })
  expect(await app.services.listUnmatched()).toEqual([])
  const ids = { transaction_id: '2000', original_transaction_id: '2000' }
  await deliver(app, purchase('bob', { ...locked, ...ids }))
  expect(await app.services.listUnmatched()).toMatchObject([{ customerId: 'bob', lines: 1 }])
})

test('does not list coins', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const coins = { product_id: 'coins', entitlement_ids: null, expiration_day: null }
  await deliver(app, { ...purchase('someone', coins), type: 'NON_RENEWING_PURCHASE' })
  expect(await app.services.listUnmatched()).toEqual([])
})

test('a product unlocks the plan that it is added to, unless the provider names entitlements', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const [first, second] = [await app.register(), await app.register()]
  const ids = { transaction_id: '2000', original_transaction_id: '2000' }
  await deliver(app, purchase(first.user._id, { product_id: 'locked', entitlement_ids: null }))
  await deliver(
    app,
    purchase(second.user._id, { product_id: 'locked', entitlement_ids: ['gold'], ...ids }),
  )
  const entitlements = async ({ accessToken }: { accessToken: string }) => {
    const { json } = await app.ask('GET', PATH, { token: accessToken })
    return json.response.entitlements.map(({ id, active }: { id: string; active: boolean }) => [
      id,
      active,
    ])
  }
  const operator = await signInOperator(app)
  const access = async () => (await operator.read(`people/${first.user._id}`)).access
  expect(await entitlements(first)).toEqual([])
  expect(await access()).toMatchObject({ status: 'unlocks_nothing', isActive: false })
  expect((await access()).sentence).toEndWith(
    'No plan on sale includes this product, so it unlocks nothing.',
  )
  await publishPlans(app, [
    { code: 'pro', paymentProductId: 'locked', entitlementIds: ['pro', 'cloud'] },
  ])
  expect(await entitlements(first)).toEqual([
    ['cloud', true],
    ['pro', true],
  ])
  expect(await entitlements(second)).toEqual([['gold', true]])
  expect(await access()).toMatchObject({ status: 'paying', isActive: true, plan: 'pro' })
})
