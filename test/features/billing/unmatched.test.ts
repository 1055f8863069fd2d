import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { deliver, ms, purchase } from '../../support/billing.ts'
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
  const named = async () => (await operator.read('overview')).events.unmatchedProducts
  expect(await named()).toEqual(['lost_product'])
  expect(await app.services.listUnmatched()).toMatchObject([
    { productId: 'lost_product', entitlementIds: ['gold'], lines: 1, customerId: user._id },
  ])
  app.clock.now = new Date(ms(31))
  expect(await app.services.listUnmatched()).toEqual([])
  app.clock.now = new Date(ms(1))
  const [free, month, year] = await app.services.plans.list()
  await app.services.plans.publish([free, { ...month, otherProductIds: ['lost_product'] }, year])
  expect(await planCode()).toBe('pro_month')
  expect(await named()).toEqual([])
  expect(await app.services.listUnmatched()).toEqual([])
})
