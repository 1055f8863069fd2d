import { expect } from 'bun:test'
import { createClock, createTestApp, type TestApp } from '../support/app.ts'
import { fetchFile, filesOf, uploadBody } from '../support/attachments.ts'
import { createTestDatabase } from '../support/databases.ts'
import { createTestInstances, testInstances } from '../support/instances.ts'
import { startLossyProxy } from '../support/lossy-proxy.ts'
import { simulateDelay } from '../support/until.ts'

testInstances(
  'a retried upload is complete when the response to its first commit was lost',
  async () => {
    await using lossy = await createLossyApp()
    const { app, proxy } = lossy
    const { accessToken: token } = await app.register()
    const send = () =>
      uploadBody(app, token, 'x', 'text/plain', 'supportTicket', { 'idempotency-key': 'k' })
    // The first use of a session writes to the database: do that before the proxy drops responses.
    await app.ask('GET', '/api/user/profile/v1', { token })
    await app.services.outbox.flush()
    proxy.dropReplyTo('COMMIT')
    expect((await send()).status).toBe(503)
    const second = await send()
    expect(second.status).toBe(200)
    expect((await fetchFile(app, second.json.response[0].url)).status).toBe(200)
    const { db } = app.services
    const rows = await db.read.select().from(db.tables.attachments)
    expect(rows.map(({ key }) => key)).toEqual(await filesOf(app))
  },
)

testInstances('does not repeat a change when the response to its commit is lost', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  const { db } = app.services
  let count = 0
  proxy.dropReplyTo('COMMIT')
  const change = db.write(async (tx) => {
    count++
    await tx.insert(db.tables.contentVersions).values({ name: 'lost', version: 1 })
  })
  expect(await change.catch(({ code }) => code)).toBe('unavailable')
  expect(count).toBe(1)
  expect((await db.read.select().from(db.tables.contentVersions)).length).toBe(3)
})

testInstances('repeats a change when its connection is lost before the commit', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  proxy.dropReplyTo('insert into "users"')
  const { user } = await app.register('ann@example.com')
  expect(user.email).toBe('ann@example.com')
})

testInstances('a scheduled job still runs when the response to its claim is lost', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  const slot = new Date()
  proxy.dropReplyTo('a-job')
  const claims = [
    await app.services.db.claimJob('a-job', slot),
    await app.services.db.claimJob('a-job', slot),
  ]
  expect(claims).toContain(true)
})

testInstances('reports rotated keys even when the response to the rotation is lost', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  const ring = app.services.encryptionKeys
  const [before] = ring.published()
  proxy.dropReplyTo('encryption-keys')
  await ring.rotate(true)
  expect(ring.published()).toHaveLength(1)
  expect(ring.published()[0]?.kid).not.toBe(before?.kid)
})

/** A test app that reaches its database through a proxy that can drop responses. */
async function createLossyApp() {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await createTestDatabase())
  const proxy = opening.use(await startLossyProxy(database.environment['DATABASE_URL'] ?? ''))
  const environment = { ...database.environment, DATABASE_URL: proxy.url }
  const shared = { environment, [Symbol.asyncDispose]: async () => {} }
  const app = opening.use(
    await createTestApp({}, { shared: { database: shared, clock: createClock() } }),
  )
  app.expectErrors()
  const stack = opening.move()
  return { app, proxy, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

testInstances(
  'answers 503 when another instance stored the same key during a stall',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const { contentVersions, users } = here.services.db.tables
    const insert = (app: TestApp, stall: () => Promise<unknown>) =>
      app.services.db.write(async (tx) => {
        await tx.select().from(users).limit(1)
        await stall()
        await tx.insert(contentVersions).values({ name: 'met', version: 1 })
      })
    const stalled = insert(here, async () => {
      await insert(there, async () => {})
      await simulateDelay(7_100)
    })
    expect(await stalled.catch((error) => error.code)).toBe('unavailable')
  },
  60_000,
)
