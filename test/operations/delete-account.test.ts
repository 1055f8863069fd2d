import { expect, setSystemTime, test } from 'bun:test'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import { snapshotJobs } from '../../src/cli/data/snapshots.ts'
import { readConfig } from '../../src/config/config.ts'
import { createClock, createTestApp, type TestApp } from '../support/app.ts'
import { uploadBody } from '../support/attachments.ts'
import { deliver, purchase } from '../support/billing.ts'
import { createTestDatabase, isOnPostgres } from '../support/databases.ts'
import { startS3 } from '../support/s3-server.ts'
import { startSmtp } from '../support/smtp.ts'
import { until } from '../support/until.ts'

const PROFILE = '/api/user/profile/v1'
const CANARY = 'canary7f3a9c'
const EMAIL = `ann@${CANARY}.example`
const DAY = 24 * 60 * 60 * 1000
const abortAfter = AbortSignal.timeout

test('deleting an account deletes its queued e-mails, but not those of other accounts', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url, BASE_URL: 'https://a.example.com' })
  smtp.state.failing = true
  const { accessToken: token } = await app.register('ann@example.com', { device: 'first' })
  await app.register('bob@example.com')
  const json = { email: 'ann@example.com', password: 'correct horse battery' }
  await app.ask('POST', '/api/auth/login/v1', { json, headers: { device: 'second' } })
  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: json.email } })
  await app.services.outbox.flush()
  expect(await app.services.outbox.count()).toBe(4)
  expect((await app.ask('DELETE', PROFILE, { token })).status).toBe(200)
  expect(await app.services.outbox.count()).toBe(1)
  smtp.state.failing = false
  app.clock.advance(61_000)
  await app.services.outbox.flush()
  expect(smtp.mails.map(({ to }) => to)).toEqual(['bob@example.com'])
})

test('stores nothing about a deleted user, and logs at most the id', async () => {
  await using world = await startWorld()
  const { here, there, s3 } = world
  for (let at = 0; at < 20; at++) await here.register()
  const { token, userId, salt } = await storeCanary(world)
  for (let at = 0; at < 20; at++) await here.register()
  expect(await findLocations(world, [CANARY, userId, salt])).not.toEqual([])

  expect((await here.ask('DELETE', PROFILE, { token })).status).toBe(200)
  setSystemTime(Date.now() + 121_000)
  for (const { services } of [here, there]) await services.orphans.collectCopies()
  setSystemTime()
  await here.services.db.emptyLog()
  const isGone = async () => (await findLocations(world, [CANARY, userId, salt])).length === 0
  await until(isGone, 'data of the deleted user is left')
  expect(await here.services.outbox.count()).toBe(40)
  expect(s3.stored()).toEqual([])
  const lines = [...here.lines, ...there.lines]
  expect(lines.filter((line) => line.includes(CANARY) || line.includes(salt))).toEqual([])
  expect(lines.some((line) => line.includes(userId))).toBe(true)
}, 60_000)

test('deletes a pre-migration snapshot after 30 days', async () => {
  await using app = await createTestApp()
  const folder = join(app.dataDir, 'snapshots')
  const now = Date.now()
  const names = [now - 31 * DAY, now - 29 * DAY].map((at) => `before-migration-9-${at}.db`)
  await mkdir(folder)
  for (const name of [...names, 'notes.txt']) await writeFile(join(folder, name), CANARY)
  for (const { run } of snapshotJobs(readConfig({}, { DATA_DIR: app.dataDir }))) {
    await run(abortAfter(5_000))
  }
  expect((await readdir(folder)).toSorted()).toEqual([names[1] ?? '', 'notes.txt'])
})

type World = Awaited<ReturnType<typeof startWorld>>

/** Two instances (one on SQLite) with a file store and a mail server that refuses everything. */
async function startWorld() {
  await using resources = new AsyncDisposableStack()
  const s3 = resources.use(
    await startS3({ bucket: 'homeport', accessKeyId: 'id', secretAccessKey: 'secret' }),
  )
  const smtp = resources.use(await startSmtp())
  smtp.state.failing = true
  const database = resources.use(await createTestDatabase())
  const clock = createClock()
  const environment = {
    FILES_URL: `s3://homeport/files?endpoint=${s3.url}`,
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
    SMTP_URL: smtp.url,
    BASE_URL: 'https://a.example.com',
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'debug',
  }
  const open = async () =>
    resources.use(await createTestApp(environment, { shared: { database, clock } }))
  const here = await open()
  const there = isOnPostgres ? await open() : here
  const stack = resources.move()
  const databaseUrl = database.environment['DATABASE_URL'] ?? null
  return { here, there, s3, databaseUrl, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** Stores the canary everywhere a user can store something. */
async function storeCanary({ here, there }: World) {
  const headers = { device: `first ${CANARY}` }
  const { accessToken: token, user } = await here.register(EMAIL, headers)
  const json = { email: EMAIL, password: 'correct horse battery' }
  const login = { json, headers: { device: `second ${CANARY}` } }
  expect((await here.ask('POST', '/api/auth/login/v1', login)).status).toBe(200)
  await here.ask('PATCH', PROFILE, { token, json: { name: CANARY } })
  await here.ask('POST', '/api/auth/password/v1/forgot', { json: { email: EMAIL } })
  await here.services.outbox.flush()
  const text = `a text of ${CANARY}`
  const stored = await uploadBody(here, token, text, 'text/plain', 'supportTicket', {
    'idempotency-key': CANARY,
  })
  const { pathname, search } = new URL(stored.json.response[0].url)
  for (const app of [here, there]) {
    expect((await app.ask('GET', pathname + search)).text).toBe(text)
  }
  const attributes = { subscriber_attributes: { $email: { value: EMAIL, updated_at_ms: 1 } } }
  await deliver(here, purchase(user._id, { id: 'first', ...attributes }))
  const { users } = here.services.db.tables
  const rows = await here.services.db.read.select().from(users)
  const hash = rows.find(({ id }) => id === user._id)?.passwordHash
  return { token, userId: user._id, salt: hash?.split('$').at(-2) ?? '' }
}

/** The files and tables that contain one of `needles`. */
async function findLocations(
  { here, there, databaseUrl }: World,
  needles: string[],
): Promise<string[]> {
  const found = (await Promise.all([here, there].map((app) => findFilesWith(app, needles)))).flat()
  if (databaseUrl === null) return found
  await using sql = new SQL({ url: databaseUrl, max: 1 })
  const tables = await sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
  for (const { tablename } of tables) {
    const rows = await sql.unsafe(`SELECT t::text AS row FROM "${tablename}" t`)
    const text = rows.map(({ row }: { row: string }) => row).join('\n')
    if (needles.some((needle) => text.includes(needle))) found.push(tablename)
  }
  return found
}

/** Reads in another process, because closing a database file would release our own locks on it. */
async function findFilesWith({ dataDir }: TestApp, needles: string[]): Promise<string[]> {
  const patterns = needles.flatMap((needle) => ['-e', needle])
  const found = await Bun.$`grep -rlaF ${patterns} ${dataDir}`.nothrow().text()
  return found.split('\n').filter((path) => path !== '')
}
