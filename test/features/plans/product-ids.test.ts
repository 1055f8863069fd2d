import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { publishPlans } from '../../support/plans.ts'

test('spaces and empty lines around the ids of products and entitlements are dropped', async () => {
  await using app = await createTestApp()
  const ids = { otherProductIds: ['pro_year ', ''], entitlementIds: [' pro'], capabilities: [''] }
  await publishPlans(app, [{ code: 'pro', paymentProductId: ' pro_month\n', ...ids }])
  const { content } = await app.services.plans.readLive()
  expect(content[0]).toMatchObject({
    paymentProductId: 'pro_month',
    otherProductIds: ['pro_year'],
    entitlementIds: ['pro'],
    capabilities: [],
  })
})
