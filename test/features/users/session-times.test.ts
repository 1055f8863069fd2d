import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'

const SECOND = 1_000
const DAY = 24 * 60 * 60 * SECOND
const EMAIL = 'ann@example.com'

test('a refresh of an expired session deletes it', async () => {
  await using app = await createTestApp()
  const { refreshToken } = await app.register()
  app.clock.advance(60 * DAY)
  expect((await refresh(app, refreshToken)).status).toBe(401)
  expect(await app.services.db.read.$count(app.services.db.tables.sessions)).toBe(0)
})

test('the sweep deletes sessions after 365 days, even if they are in use', async () => {
  await using app = await createTestApp()
  const { users, db } = app.services
  let { refreshToken } = await app.register()
  for (let days = 0; days < 350; days += 50) {
    app.clock.advance(50 * DAY)
    refreshToken = (await refresh(app, refreshToken)).json.response.refreshToken
  }
  app.clock.advance(14 * DAY)
  await users.sessions.sweep(AbortSignal.timeout(5_000))
  expect(await db.read.$count(db.tables.sessions)).toBe(1)
  app.clock.advance(DAY)
  await users.sessions.sweep(AbortSignal.timeout(5_000))
  expect(await db.read.$count(db.tables.sessions)).toBe(0)
})

test('a guest who uses the app every month keeps the session for years', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('POST', '/api/auth/guest/v1')
  let { refreshToken } = json.response
  for (let month = 0; month < 30; month++) {
    app.clock.advance(30 * DAY)
    await app.services.users.sessions.sweep(AbortSignal.timeout(5_000))
    refreshToken = (await refresh(app, refreshToken)).json.response.refreshToken
  }
  app.clock.advance(60 * DAY)
  expect((await refresh(app, refreshToken)).status).toBe(401)
})

test('a session keeps its last 500 tokens, and the sweep deletes those of expired sessions in batches', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const { users, db } = app.services
  const first = (await app.register()).refreshToken
  let refreshToken = first
  for (let count = 0; count < 510; count++) {
    refreshToken = (await refresh(app, refreshToken)).json.response.refreshToken
    app.clock.advance(61 * SECOND)
  }
  expect(await db.read.$count(db.tables.refreshTokens)).toBe(501)
  expect((await refresh(app, first)).status).toBe(401)
  expect((await refresh(app, refreshToken)).status).toBe(200)
  app.clock.advance(60 * DAY)
  await users.sessions.sweep(AbortSignal.timeout(5_000))
  expect(await db.read.$count(db.tables.refreshTokens)).toBe(0)
  expect(await db.read.$count(db.tables.sessions)).toBe(0)
})

test('an access token ends with its session after 365 days', async () => {
  await using app = await createTestApp()
  let session = await app.register()
  for (let days = 0; days < 350; days += 50) {
    app.clock.advance(50 * DAY)
    session = (await refresh(app, session.refreshToken)).json.response
  }
  app.clock.advance(15 * DAY - 60 * SECOND)
  const { accessToken } = (await refresh(app, session.refreshToken)).json.response
  expect((await readProfile(app, accessToken)).status).toBe(200)
  app.clock.advance(60 * SECOND)
  const { status, json } = await readProfile(app, accessToken)
  expect([status, json.code]).toEqual([401, 'unauthenticated'])
})

test('a used refresh token is accepted again for 60 s, counted from the first use of its successor', async () => {
  await using app = await createTestApp()
  const { refreshToken } = await app.register()
  const second = (await refresh(app, refreshToken)).json.response
  await readProfile(app, second.accessToken)
  app.clock.advance(50 * SECOND)
  expect((await refresh(app, second.refreshToken)).status).toBe(200)
  app.clock.advance(10 * SECOND)
  expect((await refresh(app, refreshToken)).status).toBe(200)
  app.clock.advance(SECOND)
  expect((await refresh(app, refreshToken)).status).toBe(401)
})

test('two refreshes that overlap by 5 s are treated as two processes', async () => {
  await using app = await createTestApp()
  const first = await app.register()
  const second = (await refresh(app, first.refreshToken)).json.response
  await readProfile(app, second.accessToken)
  await refresh(app, first.refreshToken)
  const third = (await refresh(app, second.refreshToken)).json.response
  await readProfile(app, third.accessToken)
  app.clock.advance(5 * SECOND)
  expect((await refresh(app, second.refreshToken)).status).toBe(409)
  app.clock.advance(1)
  expect((await refresh(app, second.refreshToken)).status).toBe(401)
})

test('an access token is refused from the second it expires', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date('2026-06-01T12:00:00Z')
  const { accessToken } = await app.register()
  app.clock.advance(15 * 60 * SECOND - 1)
  const early = (await readProfile(app, accessToken)).status
  app.clock.advance(1)
  expect([early, (await readProfile(app, accessToken)).json.code]).toEqual([200, 'token_expired'])
})

test('the least recently used session is removed, not the oldest', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const first = await app.register(EMAIL)
  const second = await login(app)
  app.clock.advance(SECOND)
  for (let at = 2; at < 20; at++) await login(app)
  app.clock.advance(SECOND)
  const { accessToken } = (await refresh(app, first.refreshToken)).json.response
  await login(app)
  expect((await readProfile(app, accessToken)).status).toBe(200)
  expect((await readProfile(app, second)).status).toBe(401)
})

test('a device was last seen at its latest sign-in, even if an older session ends', async () => {
  await using app = await createTestApp()
  const { user, accessToken } = await app.register(EMAIL, { device: 'phone' })
  app.clock.advance(DAY / 2)
  await login(app)
  const seen = app.clock.now.toISOString()
  const { devices, sessions } = app.services.users
  expect(await devices.listKnown(user._id)).toEqual([{ device: 'phone', seenAt: seen }])
  const older = (await devices.list(user._id, '')).at(-1)
  await sessions.end(older?._id ?? '')
  expect((await readProfile(app, accessToken)).status).toBe(401)
  expect(await devices.listKnown(user._id)).toEqual([{ device: 'phone', seenAt: seen }])
})

test('the sweep deletes expired one-time tokens only', async () => {
  await using app = await createTestApp()
  const { users, db } = app.services
  const { user } = await app.register()
  await db.write((tx) => users.oneTimeTokens.issue(tx, 'reset-password', user._id))
  await db.write((tx) => users.oneTimeTokens.issue(tx, 'two-factor', user._id))
  app.clock.advance(6 * 60 * SECOND)
  await users.oneTimeTokens.sweep()
  const pending = await users.oneTimeTokens.list(user._id)
  expect(pending.map(({ purpose }) => purpose)).toEqual(['reset-password', 'verify-email'])
})

function refresh(app: TestApp, refreshToken: string) {
  return app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
}

function readProfile(app: TestApp, token: string) {
  return app.ask('GET', '/api/user/profile/v1', { token })
}

/** Opens another session on the same device, and returns its access token. */
async function login(app: TestApp): Promise<string> {
  const json = { email: EMAIL, password: PASSWORD }
  const headers = { device: 'phone' }
  return (await app.ask('POST', '/api/auth/login/v1', { json, headers })).json.response.accessToken
}
