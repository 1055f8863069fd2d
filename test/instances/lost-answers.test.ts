import { expect } from 'bun:test'
import { createClock, createTestApp, type TestApp } from '../support/app.ts'
import { fetchFile, filesOf, uploadBody } from '../support/attachments.ts'
import { createTestDatabase } from '../support/databases.ts'
import { createTestInstances, testInstances } from '../support/instances.ts'
import { startLossyProxy } from '../support/lossy-proxy.ts'

testInstances('an upload whose commit was not answered is whole when it comes again', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  const { accessToken: token } = await app.register()
  const send = () =>
    uploadBody(app, token, 'x', 'text/plain', 'supportTicket', { 'idempotency-key': 'k' })
  // The first use of a session is a change of its own.
  await app.ask('GET', '/api/user/profile/v1', { token })
  await app.services.outbox.flush()
  proxy.loseAnswerTo('COMMIT')
  expect((await send()).status).toBe(503)
  const again = await send()
  expect(again.status).toBe(200)
  expect((await fetchFile(app, again.json.response[0].url)).status).toBe(200)
  const { db } = app.services
  const rows = await db.read.select().from(db.tables.attachments)
  expect(rows.map(({ key }) => key)).toEqual(await filesOf(app))
})

testInstances('a change whose commit was not answered is not made twice', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  const { db } = app.services
  let count = 0
  proxy.loseAnswerTo('COMMIT')
  const change = db.write(async (tx) => {
    count++
    await tx.insert(db.tables.contentVersions).values({ name: 'lost', version: 1 })
  })
  expect(await change.catch(({ code }) => code)).toBe('unavailable')
  expect(count).toBe(1)
  expect((await db.read.select().from(db.tables.contentVersions)).length).toBe(3)
})

testInstances('a change whose connection breaks before its commit is made again', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  proxy.loseAnswerTo('insert into "users"')
  const { user } = await app.register('ann@example.com')
  expect(user.email).toBe('ann@example.com')
})

testInstances('a timer whose claim was not answered runs on somebody', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  const slot = new Date()
  proxy.loseAnswerTo('a-timer')
  const claims = [
    await app.services.db.claimTimer('a-timer', slot),
    await app.services.db.claimTimer('a-timer', slot),
  ]
  expect(claims).toContain(true)
})

testInstances('keys whose change was not answered are changed, and said to be', async () => {
  await using lossy = await createLossyApp()
  const { app, proxy } = lossy
  const ring = app.services.encryptionKeys
  const [before] = ring.published()
  proxy.loseAnswerTo('encryption-keys')
  await ring.rotate(true)
  expect(ring.published()).toHaveLength(1)
  expect(ring.published()[0]?.kid).not.toBe(before?.kid)
})

/** An application whose answers of the database may get lost. */
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
  'a key that another instance stored during a stall is answered with 503',
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
      await Bun.sleep(7_100)
    })
    expect(await stalled.catch((error) => error.code)).toBe('unavailable')
  },
  20_000,
)
