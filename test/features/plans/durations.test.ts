import { expect, test } from 'bun:test'
import { checkSettings } from '../../../src/cli/doctor/local-checks.ts'
import { createTestApp } from '../../support/app.ts'
import { signInOperator } from '../../support/operator.ts'
import { setStoredDuration } from '../../support/plans.ts'

const RULE = 'must be a duration such as month, 3 months, P1Y, P30D or lifetime'
const ERROR = { path: 'plans.1.duration', message: RULE }

test.each(['bananas', 'montth', '30d', 'biweekly', 'half year', ''])(
  'a plan with the duration %p is refused wherever plans are edited',
  async (duration) => {
    await using app = await createTestApp()
    const [free, month, year] = await app.services.plans.list()
    const content = [free, { ...month, duration }, year]
    const error = await app.services.plans.publish(content).catch((thrown) => thrown)
    expect([error.code, error.details]).toEqual(['validation_failed', [ERROR]])
    const operator = await signInOperator(app)
    const { version: base } = await operator.read('plans')
    const published = await operator.ask('POST', 'plans/publish', {
      json: { base, note: '', content },
    })
    expect([published.status, published.json.details]).toEqual([422, [ERROR]])
  },
)

test.each(['P1M', 'P30D', 'quarterly', 'lifetime'])('accepts the duration %p', async (duration) => {
  await using app = await createTestApp()
  const [free, month, year] = await app.services.plans.list()
  await app.services.plans.publish([free, { ...month, duration: ` ${duration}` }, year])
  expect((await app.services.plans.list())[1]).toMatchObject({ duration })
})

test('doctor and the console list an invalid stored duration until it is corrected', async () => {
  await using app = await createTestApp()
  await setStoredDuration(app, 'bananas')
  const operator = await signInOperator(app)
  const sentence = `Plan pro_month has an invalid duration, “bananas”. It ${RULE}.`
  const warnings = async () => (await operator.read('overview')).plans.warnings
  expect(await warnings()).toEqual([sentence])
  expect(checkSettings(await app.services.serverState())).toMatchObject({
    state: 'warning',
    detail: sentence.slice(0, -1),
  })
  const plans = (await app.ask('GET', '/api/user/pricing_plans/v1')).json.response
  expect(plans[1].duration).toBe('bananas')
  const [free, month, year] = await app.services.plans.list()
  await app.services.plans.publish([free, { ...month, duration: 'month' }, year])
  expect(await warnings()).toEqual([])
  expect(checkSettings(await app.services.serverState()).state).toBe('ok')
})

test('refuses to roll back to a version with an invalid duration', async () => {
  await using app = await createTestApp()
  await setStoredDuration(app, 'bananas')
  const [free, month, year] = await app.services.plans.list()
  await app.services.plans.publish([free, { ...month, duration: 'P1M' }, year])
  const error = await app.services.plans.rollBack(1).catch((thrown) => thrown)
  expect([error.code, error.details]).toEqual(['validation_failed', [ERROR]])
})
