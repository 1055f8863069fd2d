import { expect, test } from 'bun:test'
import plans from '../../data/seed/plans.json' with { type: 'json' }
import settings from '../../data/seed/settings.json' with { type: 'json' }
import { checkExamples } from '../../src/cli/doctor/local-checks.ts'
import { describeExamples, isExample } from '../../src/lib/example-content.ts'
import { createTestApp } from '../support/app.ts'
import { signInOperator } from '../support/operator.ts'

test('every plan of a new installation counts as an example until its texts are edited', () => {
  expect(plans.filter((plan) => !isExample(plan))).toEqual([])
  const [free] = plans
  const own = { ...free, description: { en: 'For one app.', de: 'Für eine App.' } }
  expect(isExample(own)).toBe(false)
  expect(isExample({ ...free, price: 1, code: 'basic' })).toBe(true)
})

test('lists each example setting until it is edited', () => {
  const edited = { ...settings, supportEmail: 'help@acme.test', ios: { latestVersion: '2.0.0' } }
  const { supportEmail, playStoreLink, appStoreLink, termsUrl, privacyUrl } = settings
  const examples = { supportEmail, playStoreLink, appStoreLink, termsUrl, privacyUrl }
  expect(describeExamples(settings, [])[0]).toContain(Object.keys(examples).join(', '))
  expect(describeExamples(edited, [])).toEqual([
    'Apps get example values of the settings playStoreLink, appStoreLink, termsUrl, privacyUrl.',
  ])
})

test('the overview and doctor name the examples until they are gone', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const found = (await ann.read('overview')).examples
  expect(found).toEqual([
    expect.stringContaining('supportEmail'),
    expect.stringContaining('free, pro_month, pro_year'),
  ])
  const finding = checkExamples(await app.services.serverState())
  expect(finding).toMatchObject({ state: 'warning', detail: found.join(' ') })
  for (const { code } of await app.services.plans.list()) await app.services.plans.archive(code)
  expect((await ann.read('overview')).examples).toHaveLength(1)
})
