import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { addDemoData, listDemoJobs } from '../../src/cli/demo.ts'
import { createTestApp } from '../support/app.ts'

test('demo data is created through the services, and only in an empty database', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const startLines = app.lines.length
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
  const added = app.lines.slice(startLines)
  expect(added.filter((line) => /"level":"(warn|error)"/.test(line))).toEqual([])

  // One demo event has failed, and no job replays it; replaying it by hand applies it.
  const retry = 'failed billing events'
  const jobNames = async () => (await listDemoJobs(app.services)).map(({ name }) => name)
  expect(app.services.jobs.map(({ name }) => name)).toContain(retry)
  expect(await jobNames()).not.toContain(retry)
  const [failed] = await db.read
    .select()
    .from(billingEvents)
    .where(eq(billingEvents.outcome, 'failed'))
  expect(failed).toMatchObject({ type: 'CANCELLATION', error: expect.any(String) })
  await app.services.eventFolding.replay(failed?.eventId ?? '')
  expect((await read()).entitlements).toMatchObject([{ id: 'pro', active: true, willRenew: false }])
  expect(await jobNames()).toContain(retry)
  await using nonEmpty = await createTestApp()
  await nonEmpty.register()
  await addDemoData(nonEmpty.services, nonEmpty.services.log)
  expect(await nonEmpty.services.db.read.$count(nonEmpty.services.db.tables.users)).toBe(1)
})
