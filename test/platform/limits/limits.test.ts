import { expect, test } from 'bun:test'
import { createLog } from '../../../src/lib/log/log.ts'
import { createAddresses } from '../../../src/platform/http/request/client-address.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'

const MINUTE = 60_000
const YEAR = 365 * 24 * 60 * MINUTE
const PROXY = { TRUSTED_PROXIES: '127.0.0.1' }

test(`verifies at most 20 of 1,000 guesses at one account in 15 minutes, from any number of addresses ${fault(61)}`, async () => {
  await using app = await createTestApp(PROXY)
  await app.register('ann@example.com')
  let verified = 0
  for (let at = 0; at < 1_000; at++) {
    const { status } = await login(app, 'ann@example.com', 'wrong password')
    if (status === 401) verified++
    else expect(status).toBe(429)
    app.clock.advance(900)
  }
  expect(verified).toBeGreaterThan(5)
  expect(verified).toBeLessThanOrEqual(20)
}, 60_000)

test(`counts concurrent guesses, and the right password works after the delay ${fault(61)}`, async () => {
  await using app = await createTestApp()
  await app.register('ann@example.com')
  const tries = Array.from({ length: 50 }, () => login(app, 'ann@example.com', 'wrong password'))
  const statuses = (await Promise.all(tries)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(5)
  const locked = await login(app, 'ann@example.com')
  expect([locked.status, locked.json.code]).toEqual([429, 'rate_limited'])
  expect(locked.headers.get('retry-after')).toBe('1')
  app.clock.advance(1_000)
  expect((await login(app, 'ann@example.com')).status).toBe(200)
  for (let at = 0; at < 4; at++) await login(app, 'ann@example.com', 'wrong password')
  expect((await login(app, 'ann@example.com')).status).toBe(200)
})

test('limits per IP address can be changed', async () => {
  await using app = await createTestApp({
    SIGN_IN_FAILURES_PER_IP: '2',
    REGISTRATIONS_PER_IP: '3',
    GUESTS_PER_IP: '4',
    MAILS_PER_IP: '5',
  })
  const countUntilLimited = async (path: string, json: (at: number) => object | undefined) => {
    for (let at = 0; at < 10; at++) {
      const { status } = await app.ask('POST', `/api/auth/${path}`, { json: json(at) })
      if (status === 429) return at
    }
    return null
  }
  const email = (at: number) => `user${at}@example.com`
  const failure = (at: number) => ({ email: email(at), password: 'wrong password' })
  const registration = (at: number) => ({ email: email(at), password: PASSWORD })
  expect(await countUntilLimited('login/v1', failure)).toBe(2)
  expect(await countUntilLimited('register/v1', registration)).toBe(3)
  expect(await countUntilLimited('guest/v1', () => undefined)).toBe(4)
  expect(await countUntilLimited('password/v1/forgot', (at) => ({ email: email(at) }))).toBe(5)
  expect(await countUntilLimited('email_code/v1', (at) => ({ email: email(at) }))).toBe(5)
})

test('ignores counters from a clock a year ahead once it is set back', async () => {
  await using app = await createTestApp()
  await app.register('ann@example.com')
  app.clock.advance(YEAR)
  for (let at = 0; at < 6; at++) await login(app, 'ann@example.com', 'wrong password')
  expect((await login(app, 'ann@example.com')).status).toBe(429)
  app.clock.advance(-MINUTE)
  expect((await login(app, 'ann@example.com')).status).toBe(429)
  app.clock.advance(MINUTE - YEAR)
  expect((await login(app, 'ann@example.com')).status).toBe(200)
})

test(`locks an unknown address in the same way as a known one ${fault(59)}`, async () => {
  await using app = await createTestApp()
  const statuses: number[] = []
  for (let at = 0; at < 7; at++) statuses.push((await login(app, 'nobody@example.com')).status)
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429])
})

test(`a locked account stays signed in and can reset its password ${fault(63)}`, async () => {
  await using app = await createTestApp()
  const { accessToken, refreshToken } = await app.register('ann@example.com')
  for (let at = 0; at < 6; at++) await login(app, 'ann@example.com', 'wrong password')
  expect((await login(app, 'ann@example.com')).status).toBe(429)
  const profile = await app.ask('GET', '/api/user/profile/v1', { token: accessToken })
  expect(profile.status).toBe(200)
  const refreshed = await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  expect(refreshed.status).toBe(200)
  const { db, users } = app.services
  const token = await db.write((tx) =>
    users.oneTimeTokens.issue(tx, 'reset-password', profile.json.response._id, 'ann@example.com'),
  )
  const newPassword = 'another good one'
  const reset = await app.ask('POST', '/api/auth/password/v1/reset', {
    json: { token, newPassword },
  })
  expect(reset.status).toBe(200)
  expect((await login(app, 'ann@example.com', newPassword)).status).toBe(200)
})

test("a stranger's wrong sign-ins do not block a signed-in user", async () => {
  await using app = await createTestApp()
  const { accessToken } = await app.register('ann@example.com')
  for (let at = 0; at < 6; at++) await login(app, 'ann@example.com', 'wrong password')
  const json = { currentPassword: PASSWORD, newPassword: 'another good one' }
  const changed = await app.ask('PATCH', '/api/auth/password/v1', { token: accessToken, json })
  expect(changed.status).toBe(200)
})

test('limits wrong passwords of a signed-in user as well', async () => {
  await using app = await createTestApp()
  const { accessToken } = await app.register('ann@example.com')
  const json = { currentPassword: 'wrong password', newPassword: 'another good one' }
  const statuses: number[] = []
  for (let at = 0; at < 6; at++) {
    const { status } = await app.ask('PATCH', '/api/auth/password/v1', { token: accessToken, json })
    statuses.push(status)
  }
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
})

test(`an IP address may fail 100 times in 5 minutes without affecting others ${fault(62)}`, async () => {
  await using app = await createTestApp(PROXY)
  await app.register('ann@example.com')
  await using server = serve(app)
  const statuses: number[] = []
  // Failures are inserted directly, to avoid hashing 100 passwords.
  const { limits } = app.services
  const rule = { name: 'sign-in-address', max: 100, seconds: 300 }
  for (let at = 0; at < 98; at++) await limits.reserve([{ rule, key: '203.0.113.9' }])
  for (let at = 0; at < 4; at++) {
    statuses.push(await server.login(`victim${at}@example.com`, 'spring 2026', '203.0.113.9'))
  }
  expect(statuses).toEqual([401, 401, 429, 429])
  expect(await server.login('ann@example.com', PASSWORD, '203.0.113.10')).toBe(200)
  app.clock.advance(300_000)
  expect(await server.login('ann@example.com', PASSWORD, '203.0.113.9')).toBe(200)
})

test('limits registrations and guests to 100 an hour per IP address', async () => {
  await using app = await createTestApp()
  for (const [path, name] of [
    ['register', 'register'],
    ['guest', 'guest'],
  ] as const) {
    const rule = { name, max: 100, seconds: 3_600 }
    for (let at = 0; at < 99; at++) await app.services.limits.reserve([{ rule, key: 'unknown' }])
    const ask = (at: number) =>
      app.ask('POST', `/api/auth/${path}/v1`, {
        ...(path === 'register'
          ? { json: { email: `u${at}@example.com`, password: PASSWORD } }
          : {}),
      })
    expect((await ask(1)).status).toBe(200)
    expect((await ask(2)).status).toBe(429)
    app.clock.advance(3_600_000)
    expect((await ask(3)).status).toBe(200)
  }
})

test('limits e-mails to 3 an hour per address, known or not', async () => {
  await using app = await createTestApp()
  await app.register('ann@example.com')
  for (const email of ['ann@example.com', 'nobody@example.com']) {
    const statuses: number[] = []
    for (let at = 0; at < 4; at++) {
      const reply = await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email } })
      statuses.push(reply.status)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  }
})

test('counters survive a restart', async () => {
  await using app = await createTestApp()
  for (let at = 0; at < 5; at++) await login(app, 'ann@example.com')
  await app.restart()
  expect((await login(app, 'ann@example.com')).status).toBe(429)
})

test('counters contain no address and are removed after two days', async () => {
  await using app = await createTestApp()
  for (let at = 0; at < 5; at++) await login(app, 'ann@example.com')
  const rows = await app.services.db.read.select().from(app.services.db.tables.limits)
  expect(rows.length).toBeGreaterThan(0)
  expect(JSON.stringify(rows)).not.toContain('ann')
  app.clock.advance(2 * 86_400_000)
  await app.services.limits.sweep()
  expect(await app.services.db.read.$count(app.services.db.tables.limits)).toBe(0)
})

test('RATE_LIMITS=off allows any number of failed sign-ins', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  for (let at = 0; at < 8; at++) expect((await login(app, 'ann@example.com')).status).toBe(401)
})

test.each([
  ['203.0.113.9', null, [], '203.0.113.9'],
  ['::ffff:203.0.113.9', null, [], '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', null, [], '2001:db8:1:2::/64'],
  ['203.0.113.9', '198.51.100.1', [], '203.0.113.9'],
  ['10.0.0.1', '198.51.100.1', ['10.0.0.0/8'], '198.51.100.1'],
  ['10.0.0.1', '1.1.1.1, 198.51.100.1, 10.0.0.2', ['10.0.0.0/8'], '198.51.100.1'],
  ['10.0.0.1', '1.1.1.1, garbage, 10.0.0.2', ['10.0.0.0/8'], 'unknown'],
  ['10.0.0.1', '198.51.100.1:51234', ['10.0.0.0/8'], '198.51.100.1'],
  ['10.0.0.1', '[2001:db8::9]:443', ['10.0.0.0/8'], '2001:db8:0:0::/64'],
  ['10.0.0.1', '10.0.0.2', ['10.0.0.0/8'], '10.0.0.1'],
  ['::1', '2001:db8::9', ['::1'], '2001:db8:0:0::/64'],
] as const)(
  'a request from %s, forwarded for %s, trusting %j, counts as %s',
  (peer, forwarded, trusted, expected) => {
    const lines: string[] = []
    const log = createLog('info', { write: (line) => lines.push(line) })
    const findIp = createAddresses({ trusted: [...trusted], log }).findIp
    const headers: Record<string, string> =
      forwarded === null ? {} : { 'x-forwarded-for': forwarded }
    const request = new Request('http://localhost/', { headers })
    const server = { requestIP: () => ({ address: peer }) } as unknown as Bun.Server<unknown>
    expect(findIp(request, server)).toBe(expected)
    findIp(request, server)
    expect(lines).toHaveLength(forwarded !== null && trusted.length === 0 ? 1 : 0)
  },
)

function login(app: TestApp, email: string, password = PASSWORD) {
  return app.ask('POST', '/api/auth/login/v1', { json: { email, password } })
}

/** The app on a real port, behind a proxy that sets the client address. */
function serve(app: TestApp) {
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  return {
    async login(email: string, password: string, from: string): Promise<number> {
      const reply = await fetch(`http://127.0.0.1:${server.port}/api/auth/login/v1`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
        body: JSON.stringify({ email, password }),
      })
      return reply.status
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
