import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { deliver, ms, purchase } from '../../support/billing.ts'

const RECEIVER = 'https://example.com/hooks'

test('the deletion of a merged guest is dated after all other events of the guest, whatever the clock says', async () => {
  await using app = await createTestApp()
  await app.services.webhooks.endpoints.add({ url: RECEIVER, events: ['all'] })
  const login = { email: 'ann@example.com', password: 'correct horse battery' }
  await app.register(login.email)
  app.clock.advance(60_000)
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  app.clock.advance(-30_000)
  await app.ask('POST', '/api/auth/login/v1', { token: guest.accessToken, json: login })
  const { webhookMessages } = app.services.db.tables
  const rows = await app.services.db.read.select().from(webhookMessages)
  const [created, deleted] = rows.filter(({ data }) => JSON.parse(data).userId === guest.user._id)
  expect([created?.type, deleted?.type]).toEqual(['user.created', 'user.deleted'])
  expect(Number(deleted?.createdAt)).toBeGreaterThan(Number(created?.createdAt))
})

test('reports a change of plan as a change of settings, whose rules may depend on it', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user } = await app.register()
  const kinds = async () => (await app.services.changes.list(user._id)).map(({ kind }) => kind)
  await deliver(app, purchase(user._id))
  expect((await kinds()).toSorted()).toEqual(['settings', 'subscription'])
})
