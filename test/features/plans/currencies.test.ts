import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp, type TestApp } from '../../support/app.ts'

async function readCurrencies(app: TestApp) {
  const { json } = await app.ask('GET', '/api/user/pricing_plans/v1')
  return json.response.map(({ currency }: { currency: string }) => currency)
}

test("returns a plan's currency in lower case, however it was published", async () => {
  await using app = await createTestApp()
  const [free, month, year] = await app.services.plans.list()
  const currencies = ['EUR', 'eur', 'Chf']
  const plans = [free, month, year].map((plan, at) => ({ ...plan, currency: currencies[at] }))
  await app.services.plans.publish(plans)
  expect(await readCurrencies(app)).toEqual(['eur', 'eur', 'chf'])
  const [, other] = plans
  const error = await app.services.plans
    .publish([free, { ...other, currency: 'EURO' }, year])
    .catch((thrown) => thrown)
  expect(error.details).toMatchObject([{ path: 'plans.1.currency' }])
})

test('returns a currency that was stored in upper case in lower case', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const { plans } = db.tables
  await db.write(async (tx) => {
    const [plan] = await tx.select().from(plans).where(eq(plans.code, 'free'))
    const fields = { ...plan?.fields, currency: 'USD' }
    await tx.update(plans).set({ fields }).where(eq(plans.code, 'free')).returning()
  })
  expect(await readCurrencies(app)).toEqual(['usd', 'usd', 'usd'])
})
