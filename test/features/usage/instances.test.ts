import { expect } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestInstances, testInstances, times } from '../../support/instances.ts'
import { publishPlans } from '../../support/plans.ts'

testInstances('1,000 uses of a limit of 500 on two instances: exactly 500 allowed', async () => {
  await using instances = await createTestInstances()
  const { here, there } = instances
  await publishPlans(here, [{ code: 'free', limits: { exports: 500 } }])
  const { user } = await here.register()
  await there.ask('GET', '/api/user/pricing_plans/v1')
  const clients = [await serverClient(here), await serverClient(there)] as const
  const json = { userId: user._id, limit: 'exports', amount: 1 }
  const outcomes = await Promise.all(
    times(1_000).map((at) =>
      (clients[at % 2] as (typeof clients)[0])('POST', 'usage/v1', { json }),
    ),
  )
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200]))
  const allowed = outcomes.filter(({ json }) => json.response.allowed)
  expect(allowed).toHaveLength(500)
  const used = await there.services.usage.read(user._id)
  expect(used.find(({ name }) => name === 'exports')?.used).toBe(500)
})
