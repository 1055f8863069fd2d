import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { signInOperator } from '../../support/operator.ts'
import { publishPlans } from '../../support/plans.ts'

test('previews the plans in a language, or in their first one for an invalid tag', async () => {
  await using app = await createTestApp()
  await publishPlans(app, [{ code: 'pro', name: { en: 'Professional', de: 'Profi' } }])
  const operator = await signInOperator(app, { name: 'rob', role: 'reader' })
  const nameIn = async (lang: string) =>
    (await operator.read(`preview/plans?lang=${lang}`)).plans[0].name
  expect([await nameIn('de'), await nameIn('null'), await nameIn('%ff%zz')]).toEqual([
    'Profi',
    'Professional',
    'Professional',
  ])
})
