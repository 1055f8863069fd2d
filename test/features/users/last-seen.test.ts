import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { serveApp } from '../../support/served.ts'

type Session = { refreshToken: string; user: { _id: string } }

const HOUR = 60 * 60 * 1000
const NEW_DAY = new Date('2026-11-02T00:00:01Z')
const IPHONE = 'MyApp/3 CFNetwork/1568.100.1 Darwin/24.0.0'
const AGENTS: [platform: string | null, headers: Record<string, string>][] = [
  ['ios', { 'user-agent': IPHONE }],
  ['android', { 'user-agent': 'okhttp/4.12.0' }],
  ['android', { 'user-agent': 'Dalvik/2.1.0 (Linux; U; Android 15; Pixel 9)' }],
  [
    'web',
    { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0' },
  ],
  ['web', { 'app-platform': 'Web', 'user-agent': IPHONE }],
  [null, { 'user-agent': 'curl/8.5' }],
  [null, { 'app-platform': 'windows' }],
  ['android', { device: 'android' }],
  ['android', { device: 'Android 14', 'user-agent': 'Dart/3.5 (dart:io)' }],
  ['ios', { device: 'iOS' }],
  ['ios', { device: 'Ann%E2%80%99s iPhone' }],
  ['ios', { device: 'iPhone15,2', 'user-agent': 'python-requests/2' }],
  ['ios', { device: 'iPad Pro' }],
  ['web', { device: 'web' }],
  [null, { device: 'Pixel 9' }],
  [null, { device: 'Biosphere androids' }],
  ['ios', { device: 'android', 'app-platform': 'ios' }],
  ['ios', { device: 'android', 'user-agent': IPHONE }],
  ['android', { device: 'android', 'app-platform': 'windows' }],
]

test('a sign-in and the first refresh of a day record when the user was seen', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date('2026-11-01T10:00:00Z')
  const { user, refreshToken } = await app.register()
  const at = (time: string) => new Date(`2026-11-01T${time}:00Z`)
  expect((await stored(app, user._id)).lastSeenAt).toEqual(at('10:00'))
  app.clock.now = at('23:59')
  const second = await refresh(app, refreshToken)
  expect((await stored(app, user._id)).lastSeenAt).toEqual(at('10:00'))
  app.clock.now = NEW_DAY
  await refresh(app, second)
  const { lastSeenAt, updatedAt } = await stored(app, user._id)
  expect([lastSeenAt, updatedAt]).toEqual([NEW_DAY, at('10:00')])
})

test('a new platform is recorded immediately, and an unknown one does not replace it', async () => {
  await using app = await createTestApp()
  const { user, refreshToken } = await app.register('ann@example.com', { 'app-platform': 'ios' })
  const second = await refresh(app, refreshToken, { 'app-platform': 'android' })
  expect((await stored(app, user._id)).platform).toBe('android')
  await refresh(app, second)
  expect((await stored(app, user._id)).platform).toBe('android')
})

test.each(AGENTS)('recognizes the platform %p', async (platform, headers) => {
  await using app = await createTestApp()
  const { user } = await app.register('ann@example.com', headers)
  expect((await stored(app, user._id)).platform).toBe(platform)
})

test('records the country that a trusted proxy sends, unless it is unknown', async () => {
  await using app = await createTestApp({
    COUNTRY_HEADER: 'CF-IPCountry',
    TRUSTED_PROXIES: '127.0.0.1',
  })
  await using served = serveApp(app)
  const post = async (path: string, country: string, body: object = {}) => {
    const reply = await fetch(`${served.url}/api/auth/${path}/v1`, {
      method: 'POST',
      headers: { 'cf-ipcountry': country, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { response } = (await reply.json()) as { response: Session }
    return response
  }
  const { user, refreshToken } = await post('guest', 'br')
  expect((await stored(app, user._id)).country).toBe('BR')
  const { refreshToken: second } = await post('refresh', 'XX', { refreshToken })
  expect((await stored(app, user._id)).country).toBe('BR')
  await post('refresh', 'PT', { refreshToken: second })
  expect((await stored(app, user._id)).country).toBe('PT')
})

test('backfills earlier users from their devices, and keeps newer values', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date('2026-11-01T10:00:00Z')
  const { user: ann } = await app.register()
  const { user: bob } = await app.register()
  const { db, users, accounts } = app.services
  const imported = await db.write((tx) =>
    accounts.create(tx, 'email', { name: 'Cem', locale: 'en', timezone: 'utc' }),
  )
  const table = db.tables.users
  await db.write(async (tx) => {
    await tx
      .update(table)
      .set({ lastSeenAt: new Date(0) })
      .where(eq(table.id, ann._id))
    await tx.update(table).set({ lastSeenAt: NEW_DAY }).where(eq(table.id, bob._id))
  })
  app.clock.advance(HOUR)
  await users.lastSeen.backfill(new AbortController().signal)
  expect((await stored(app, ann._id)).lastSeenAt).toEqual(new Date('2026-11-01T10:00:00Z'))
  expect((await stored(app, bob._id)).lastSeenAt).toEqual(NEW_DAY)
  expect((await accounts.exportAccount(imported.id)).lastSeenAt).toBeNull()
})

function stored({ services: { db, accounts } }: TestApp, id: string) {
  return accounts.find(db.read, id)
}

/** Returns the new refresh token. */
async function refresh(app: TestApp, refreshToken: string, headers = {}): Promise<string> {
  const { json } = await app.ask('POST', '/api/auth/refresh/v1', {
    json: { refreshToken },
    headers,
  })
  return json.response.refreshToken
}
