import { expect, test } from 'bun:test'
import { chunk } from '../../../src/lib/concurrency/chunk.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'
import { emit, sampleEvents } from './support/events.ts'

const ALLOWED = { WEBHOOKS_ALLOW_PRIVATE: 'on' }
const DAY = 24 * 3_600_000
const PROFILE = '/api/user/profile/v1'

test('deleting an account erases its messages, delivered or not, but not user.deleted', async () => {
  using echo = startReceiver(({ body }) => new Response(body))
  using failing = startReceiver(({ body }) => new Response(body, { status: 500 }))
  await using app = await createTestApp(ALLOWED)
  for (const { url } of [echo, failing])
    await app.services.webhooks.endpoints.add({ url, events: ['all'] })
  const { accessToken: token, user } = await app.register()
  const { user: other } = await app.register()
  await emit(app, ...sampleEvents(user._id), ...sampleEvents(other._id))
  await app.services.webhooks.flush()
  expect((await app.ask('DELETE', PROFILE, { token })).status).toBe(200)
  const { db } = app.services
  const messages = await db.read.select().from(db.tables.webhookMessages)
  const dataOf = (userId: string) =>
    messages.filter((one) => one.userId === userId).map(({ data }) => JSON.parse(data))
  const deletion = { userId: user._id, mergedInto: null }
  // One from the samples, and one from the deletion itself.
  expect(dataOf(user._id).filter(({ erased }) => !erased)).toEqual([deletion, deletion])
  expect(dataOf(user._id)).toContainEqual({ userId: user._id, erased: true })
  expect(dataOf(other._id).map(({ user }) => user?.email)).toContain('zoë@example.com')
  const attempts = await db.read.select().from(db.tables.webhookAttempts)
  expect(attempts.filter(({ reply }) => reply.includes(user._id))).toHaveLength(2)
  failing.received.length = 0
  app.clock.advance(DAY)
  await app.services.webhooks.flush()
  const sent = failing.received.map(({ body }) => body).filter((body) => body.includes(user._id))
  // Six samples, `user.created` of the registration, and `user.deleted` of the deletion.
  expect(sent).toHaveLength(8)
  expect(sent.filter((body) => body.includes('@'))).toEqual([])
})

test('the messages of a guest are erased with the account that the guest has signed in to', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp(ALLOWED)
  await app.services.webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
  const email = 'ann@example.com'
  await app.register(email)
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  await emit(app, ...sampleEvents(guest.user._id).slice(0, 1))
  const login = { token: guest.accessToken, json: { email, password: PASSWORD } }
  const session = (await app.ask('POST', '/api/auth/login/v1', login)).json.response
  expect(await storedText(app)).toContain('zoë@example.com')
  await app.ask('DELETE', PROFILE, { token: session.accessToken })
  const stored = await storedText(app)
  expect(stored).not.toContain('zoë@example.com')
  expect(stored).toContain(`{\\"userId\\":\\"${guest.user._id}\\",\\"erased\\":true}`)
})

test('deleting an account erases thousands of messages, including those that name its former guest', async () => {
  await using app = await createTestApp(ALLOWED)
  const { user } = await app.register()
  const { db } = app.services
  const { webhookMessages } = db.tables
  const userIdAt = (at: number) => (at % 3 === 0 ? 'a-guest' : user._id)
  const rows = Array.from({ length: 1_600 }, (_, at) => ({
    id: String(at).padStart(4, '0'),
    type: 'user.updated',
    userId: user._id,
    data: JSON.stringify({ userId: userIdAt(at), user: { email: 'zoë@example.com' } }),
    createdAt: app.clock.now,
  }))
  await db.write(async (tx) => {
    for (const batch of chunk(rows, 400)) await tx.insert(webhookMessages).values(batch)
  })
  await app.services.deleteAccount(user._id)
  const stored = await db.read.select().from(webhookMessages).orderBy(webhookMessages.id)
  expect(stored.map(({ data }) => JSON.parse(data))).toEqual(
    rows.map((_, at) => ({ userId: userIdAt(at), erased: true })),
  )
})

test('messages are deleted after 30 days, with deliveries, attempts and previous secrets', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp(ALLOWED)
  const { webhooks, db } = app.services
  const { endpoint } = await webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
  await webhooks.endpoints.rotate(endpoint.id)
  for (let count = 0; count < 30; count++) await emit(app, ...sampleEvents('u1'))
  await webhooks.flush()
  app.clock.advance(29 * DAY)
  await emit(app, ...sampleEvents('u2'))
  await webhooks.flush()
  await webhooks.retention.clearOld()
  const { webhookMessages, webhookDeliveries, webhookAttempts, webhookEndpoints } = db.tables
  expect(await db.read.$count(webhookMessages)).toBe(279)
  app.clock.advance(DAY + 5_000)
  await webhooks.retention.clearOld()
  for (const table of [webhookMessages, webhookDeliveries, webhookAttempts])
    expect(await db.read.$count(table)).toBe(9)
  const [{ formerSecret, formerSecretUntil } = {}] = await db.read.select().from(webhookEndpoints)
  expect([formerSecret, formerSecretUntil]).toEqual([null, null])
}, 60_000)

async function storedText({ services: { db } }: TestApp): Promise<string> {
  return JSON.stringify(await db.read.select().from(db.tables.webhookMessages))
}

test('a response that quotes a message is not stored when the user is deleted during the attempt', async () => {
  const { promise: deleted, resolve } = Promise.withResolvers<void>()
  using echo = startReceiver(async ({ body }) => {
    await deleted
    return new Response(body)
  })
  await using app = await createTestApp(ALLOWED)
  await app.services.webhooks.endpoints.add({ url: echo.url, events: ['user.created'] })
  const { accessToken: token } = await app.register('secret@example.com')
  const flushing = app.services.webhooks.flush()
  await until(() => echo.received.length > 0, 'no message arrives')
  await app.ask('DELETE', PROFILE, { token })
  resolve()
  await flushing
  const { db } = app.services
  const [attempt] = await db.read.select().from(db.tables.webhookAttempts)
  expect(attempt).toMatchObject({ status: 200, reply: '' })
})
