import { expect, test } from 'bun:test'
import { addDemoData } from '../../src/cli/demo.ts'
import { createTestApp } from '../support/app.ts'

test('demo data is made by the services, and never where there is data', async () => {
  await using app = await createTestApp()
  // One of its events fails at first.
  app.expectErrors()
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
  const { response } = (await app.ask('GET', '/api/user/subscription/v1', { token })).json
  expect(response.entitlements).toMatchObject([{ id: 'pro', active: true }])
  await using used = await createTestApp()
  await used.register()
  await addDemoData(used.services, used.services.log)
  expect(await used.services.db.read.$count(used.services.db.tables.users)).toBe(1)
})
