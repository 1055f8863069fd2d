import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { addDemoData } from '../../src/cli/demo.ts'
import { createTestApp } from '../support/app.ts'

test('demo data is made by the services, and never where there is data', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const { users, attachments, subscriptions, billingEvents } = db.tables
  const counts = () =>
    Promise.all(
      [users, attachments, subscriptions, billingEvents].map((table) => db.read.$count(table)),
    )
  await addDemoData(app.services, app.services.log)
  const filled = await counts()
  expect(filled).toEqual([7, 7, 6, 12])
  await addDemoData(app.services, app.services.log)
  expect(await counts()).toEqual(filled)
  const json = { email: 'ann@example.com', password: 'correct horse battery' }
  const { accessToken: token } = (await app.ask('POST', '/api/auth/login/v1', { json })).json
    .response
  const read = async () =>
    (await app.ask('GET', '/api/user/subscription/v1', { token })).json.response
  expect((await read()).entitlements).toMatchObject([{ id: 'pro', active: true, willRenew: true }])
  const shown = app.lines.find((line) => line.includes('demo data added'))
  expect(shown).toContain(
    'sign in as ann@example.com with the password \\"correct horse battery\\"',
  )
  expect(app.lines.filter((line) => /"level":"(warn|error)"/.test(line))).toEqual([])

  // One of its events has failed, and is applied when it is replayed.
  const [failed] = await db.read
    .select()
    .from(billingEvents)
    .where(eq(billingEvents.outcome, 'failed'))
  expect(failed).toMatchObject({ type: 'CANCELLATION', error: expect.any(String) })
  await app.services.billing.replay(failed?.eventId ?? '')
  expect((await read()).entitlements).toMatchObject([{ id: 'pro', active: true, willRenew: false }])
  await using used = await createTestApp()
  await used.register()
  await addDemoData(used.services, used.services.log)
  expect(await used.services.db.read.$count(used.services.db.tables.users)).toBe(1)
})
