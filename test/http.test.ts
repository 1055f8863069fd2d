import { describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { TOTP } from 'totp-generator'
import { Failure } from '../src/http/envelope.ts'
import {
  type Answer,
  type Ask,
  createTestApp,
  PASSWORD,
  type TestApp,
  WEBHOOK_TOKEN,
} from './support/app.ts'
import { startIdentityProvider } from './support/identity-provider.ts'

/** Every route of the interface, with a good, a bad and an oversize request. */
type Route = {
  method: string
  path: string
  access: 'public' | 'user' | 'webhook'
  good: Ask
  bad?: Ask & { path?: string; status: number }
  oversize?: Ask
}

const LONG = 'x'.repeat(70_000)
const UNKNOWN_KEY = `${'a'.repeat(26)}.txt`
const ATTACHMENTS = '/api/user/attachments/v1'
const text = { 'content-type': 'text/plain' }

const routes: Route[] = [
  ...['app_settings', 'pricing_plans', 'currency_rates', 'content_version', 'faqs'].map(
    (name): Route => ({
      method: 'GET',
      path: `/api/user/${name}/v1`,
      access: 'public',
      good: {},
      bad: { headers: { env: 'two words' }, status: 400 },
    }),
  ),
  {
    method: 'POST',
    path: '/api/auth/register/v1',
    access: 'public',
    good: { json: { email: 'grid@example.com', password: 'long enough' } },
    bad: { json: { email: 'no address', password: 'long enough' }, status: 422 },
    oversize: { json: { email: 'a@example.com', password: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/login/v1',
    access: 'public',
    good: { json: { email: 'user@example.com', password: 'correct horse battery' } },
    bad: { json: { email: ['user@example.com'], password: 'x' }, status: 422 },
    oversize: { json: { email: 'a@example.com', password: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/refresh/v1',
    access: 'public',
    good: {},
    bad: { json: { refreshToken: 'unknown' }, status: 401 },
    oversize: { json: { refreshToken: LONG } },
  },
  {
    method: 'GET',
    path: '/api/user/profile/v1',
    access: 'user',
    good: {},
  },
  {
    method: 'PATCH',
    path: '/api/user/profile/v1',
    access: 'user',
    good: { json: { profile: { name: 'New' } } },
    bad: { json: { profile: [] }, status: 422 },
    oversize: { json: { profile: { name: LONG } } },
  },
  {
    method: 'POST',
    path: `${ATTACHMENTS}?type=supportTicket`,
    access: 'user',
    good: { body: 'text', headers: text },
    bad: { path: `${ATTACHMENTS}?type=other`, body: 'text', headers: text, status: 422 },
    oversize: { body: 'text', headers: { ...text, 'content-length': String(2 ** 30) } },
  },
  {
    method: 'GET',
    path: `${ATTACHMENTS}/download?key=KEY`,
    access: 'user',
    good: {},
    bad: { path: `${ATTACHMENTS}/download`, status: 422 },
  },
  {
    method: 'DELETE',
    path: `${ATTACHMENTS}?key=KEY`,
    access: 'user',
    good: {},
    bad: { path: `${ATTACHMENTS}?key=${UNKNOWN_KEY}`, status: 404 },
  },
  {
    method: 'POST',
    path: '/api/webhooks/billing/v1',
    access: 'webhook',
    good: { json: { event: { id: 'E', type: 'RENEWAL' } } },
    bad: { json: { event: {} }, status: 400 },
    oversize: { json: { event: { type: 'RENEWAL', fill: 'x'.repeat(300_000) } } },
  },
  {
    method: 'POST',
    path: '/api/auth/login/v1/two_factor',
    access: 'public',
    good: { json: { challengeToken: 'CHALLENGE', code: 'CODE' } },
    bad: { json: { challengeToken: 'unknown', code: '000000' }, status: 401 },
    oversize: { json: { challengeToken: LONG, code: '' } },
  },
  {
    method: 'POST',
    path: '/api/auth/social/v1',
    access: 'public',
    good: { json: { provider: 'google', idToken: 'ID_TOKEN' } },
    bad: { json: { provider: 'other', idToken: 'x' }, status: 422 },
    oversize: { json: { provider: 'google', idToken: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/guest/v1',
    access: 'public',
    good: {},
    bad: { headers: { env: 'two words' }, status: 400 },
  },
  { method: 'GET', path: '/api/auth/sessions/v1', access: 'user', good: {} },
  {
    method: 'DELETE',
    path: '/api/auth/sessions/v1?id=SESSION',
    access: 'user',
    good: {},
    bad: { path: '/api/auth/sessions/v1?id=unknown', status: 404 },
  },
  {
    method: 'PATCH',
    path: '/api/auth/password/v1',
    access: 'user',
    good: { json: { currentPassword: PASSWORD, newPassword: 'another good one' } },
    bad: { json: { currentPassword: PASSWORD, newPassword: 'password1' }, status: 422 },
    oversize: { json: { currentPassword: PASSWORD, newPassword: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/password/v1/forgot',
    access: 'public',
    good: { json: { email: 'user@example.com' } },
    bad: { json: { email: 'no address' }, status: 422 },
    oversize: { json: { email: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/password/v1/reset',
    access: 'public',
    good: { json: { token: 'RESET', newPassword: 'another good one' } },
    bad: { json: { token: 'unknown', newPassword: 'another good one' }, status: 401 },
    oversize: { json: { token: 'x', newPassword: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/email/v1/verify',
    access: 'public',
    good: { json: { token: 'VERIFY' } },
    bad: { json: { token: 'unknown' }, status: 401 },
    oversize: { json: { token: LONG } },
  },
  { method: 'POST', path: '/api/auth/email/v1/resend', access: 'user', good: {} },
  {
    method: 'POST',
    path: '/api/auth/email/v1/change',
    access: 'user',
    good: { json: { password: PASSWORD, email: 'new@example.com' } },
    bad: { json: { password: PASSWORD, email: 'other@example.com' }, status: 409 },
    oversize: { json: { password: LONG, email: 'new@example.com' } },
  },
  {
    method: 'POST',
    path: '/api/auth/two_factor/v1',
    access: 'user',
    good: { json: { password: PASSWORD } },
    bad: { json: { password: 'wrong password' }, status: 401 },
    oversize: { json: { password: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/two_factor/v1/confirm',
    access: 'user',
    good: { json: { code: 'CODE' } },
    bad: { json: { code: '000000' }, status: 401 },
    oversize: { json: { code: LONG } },
  },
  {
    method: 'DELETE',
    path: '/api/auth/two_factor/v1',
    access: 'user',
    good: { json: { password: PASSWORD, code: 'CODE' } },
    bad: { json: { password: PASSWORD, code: '000000' }, status: 401 },
    oversize: { json: { password: PASSWORD, code: LONG } },
  },
  { method: 'GET', path: '/api/user/export/v1', access: 'user', good: {} },
  {
    method: 'GET',
    path: '/api/user/subscription/v1',
    access: 'user',
    good: {},
    bad: { path: '/api/user/subscription/v1?environment=other', status: 422 },
  },
  { method: 'POST', path: '/api/auth/logout/v1', access: 'user', good: {} },
  { method: 'DELETE', path: '/api/user/profile/v1', access: 'user', good: {} },
]

describe('every route answers', () => {
  test('in this grid, which leaves none out', async () => {
    await using app = await createTestApp()
    const documented = (await app.ask('GET', '/docs/json')).json.paths as Record<string, object>
    const inDocument = Object.entries(documented).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const inGrid = routes.map(({ method, path }) => `${method} ${path.split('?')[0]}`)
    const elsewhere = ['GET /files/{key}', 'GET /.well-known/jwks.json']
    expect(inDocument.toSorted()).toEqual([...inGrid, ...elsewhere].toSorted())
  })

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s: the good request, and only to whom it belongs',
    async (_name, route) => {
      using world = await startIdentityProvider()
      await using app = await createTestApp({}, world)
      const { path, good, user, other } = await prepare(app, route, world)
      if (route.access !== 'public') {
        for (const token of [undefined, 'x', user.refreshToken]) {
          const { token: _own, ...rest } = good
          const stranger = await app.ask(route.method, path, {
            ...rest,
            ...(token === undefined ? {} : { token }),
          })
          expectFailure(stranger, 401)
        }
      }
      if (/[?&](key|id)=/.test(path)) {
        const foreign = await app.ask(route.method, path, { ...good, token: other.accessToken })
        expectFailure(foreign, 404)
      }
      const answer = await app.ask(route.method, path, good)
      expect(answer.status).toBe(200)
      expectEnvelope(answer)
    },
  )

  test.each(
    routes.flatMap((route) =>
      route.bad ? [[`${route.method} ${route.path}`, route] as const] : [],
    ),
  )('%s: a bad request', async (_name, route) => {
    using world = await startIdentityProvider()
    await using app = await createTestApp({}, world)
    const { good } = await prepare(app, route, world)
    const { status, path = route.path, ...bad } = route.bad as NonNullable<Route['bad']>
    const answer = await app.ask(route.method, path, {
      ...(good.token ? { token: good.token } : {}),
      ...bad,
    })
    expectFailure(answer, status)
  })

  test.each(
    routes.flatMap((route) =>
      route.oversize ? [[`${route.method} ${route.path}`, route] as const] : [],
    ),
  )('40: %s: an oversize request', async (_name, route) => {
    using world = await startIdentityProvider()
    await using app = await createTestApp({}, world)
    const { good } = await prepare(app, route, world)
    const token = good.token ? { token: good.token } : {}
    const answer = await app.ask(route.method, route.path, { ...token, ...route.oversize })
    expectFailure(answer, 413)
    // Without an announced length the bytes are counted as they come.
    const body = route.oversize?.json === undefined ? null : JSON.stringify(route.oversize.json)
    if (body === null) return
    const streamed = await app.ask(route.method, route.path, {
      ...token,
      body: new Blob([body]).stream(),
      headers: { 'content-type': 'application/json' },
    })
    expectFailure(streamed, 413)
  })
})

test('the reply headers stand on successes and failures', async () => {
  await using app = await createTestApp()
  for (const path of ['/api/user/app_settings/v1', '/api/user/profile/v1', '/nowhere']) {
    const { headers } = await app.ask('GET', path)
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; frame-ancestors 'none'",
    )
    expect(headers.get('cache-control')).toBe(
      path.includes('settings') ? 'public, max-age=60' : 'no-store',
    )
  }
})

test('a plain X-Request-Id is taken over, any other is replaced', async () => {
  await using app = await createTestApp()
  const idFor = async (id: string) => {
    const { json, headers } = await app.ask('GET', '/nowhere', { headers: { 'x-request-id': id } })
    expect(headers.get('x-request-id')).toBe(json.requestId)
    return json.requestId
  }
  expect(await idFor('phone-1.2_3')).toBe('phone-1.2_3')
  for (const id of ['two words', '<script>', 'x'.repeat(65), '"']) {
    expect(await idFor(id)).toMatch(/^[0-9a-f-]{36}$/)
  }
})

test.each([
  ['GET', '/nowhere', 404, null],
  ['POST', '/api/user/profile/v1/', 404, null],
  ['PUT', '/api/user/profile/v1', 405, 'GET, HEAD, PATCH, DELETE'],
  ['OPTIONS', '/api/user/app_settings/v1', 405, 'GET, HEAD'],
  ['POST', '/files/x', 405, 'GET, HEAD'],
  ['GET', '/api/webhooks/billing/v1', 405, 'POST'],
])('57: %s %s answers %d', async (method, path, status, allow) => {
  await using app = await createTestApp()
  const answer = await app.ask(method, path)
  expectFailure(answer, status)
  expect(answer.headers.get('allow')).toBe(allow)
})

test.each([
  ['two words', 400],
  ['test, prod', 400],
  ['', 400],
  ['x'.repeat(33), 400],
  ['prod', 400],
  ['TEST', 400],
  ['test', 200],
])('the header env: %s answers %d', async (env, status) => {
  await using app = await createTestApp()
  const answer = await app.ask('GET', '/api/user/app_settings/v1', { headers: { env } })
  expect(answer.status).toBe(status)
})

test.each([
  ['no JSON', '{', 400],
  ['a byte order mark', '\ufeff{"refreshToken":"x"}', 401],
  ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400],
  ['nothing', '', 400],
  ['47: depth', '['.repeat(30_000), 400],
  ['47: depth that is closed', '['.repeat(30_000) + ']'.repeat(30_000), 400],
  ['47: __proto__', '{"__proto__":{"x":1},"refreshToken":"x"}', 422],
  ['47: constructor', '{"constructor":{"prototype":{"x":1}}}', 422],
  ['48: a number that is none', '{"refreshToken":1e400}', 422],
])('a JSON body of %s', async (_what, body, status) => {
  await using app = await createTestApp()
  const headers = { 'content-type': 'application/json' }
  expectFailure(await app.ask('POST', '/api/auth/refresh/v1', { body, headers }), status)
  expect(({} as { x?: number }).x).toBeUndefined()
})

test.each([
  [undefined, 415],
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=x', 415],
  ['application/json; charset=utf-8', 401],
  ['APPLICATION/JSON', 401],
])('50: the content type %s', async (type, status) => {
  await using app = await createTestApp()
  const body = Buffer.from('{"refreshToken":"x"}')
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
  expectFailure(await app.ask('POST', '/api/auth/refresh/v1', { body, headers }), status)
})

test('45: two lengths are refused, and open no way around the cap', async () => {
  await using app = await createTestApp()
  const body = JSON.stringify({ refreshToken: 'x'.repeat(70_000) })
  const headers = { 'content-type': 'application/json', 'content-length': '70019, 70019' }
  expectFailure(await app.ask('POST', '/api/auth/refresh/v1', { body, headers }), 400)
})

test('a Host that is none gets the ordinary answer', async () => {
  await using app = await createTestApp()
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  for (const host of ['[', 'a b', 'a:99999', '%zz', '<>']) {
    const reply = await rawRequest(server.port ?? 0, `GET /nope HTTP/1.1\r\nHost: ${host}\r\n`)
    expect(reply).toMatch(/^HTTP\/1.1 40[04]/)
  }
  await server.stop(true)
})

test('49: half a character is refused, for it could not be kept', async () => {
  await using app = await createTestApp()
  const body = '{"email":"a@example.com","password":"\\ud800aaaaaaaa"}'
  const headers = { 'content-type': 'application/json' }
  expectFailure(await app.ask('POST', '/api/auth/register/v1', { body, headers }), 422)
})

test('51: a compressed body is refused and never inflated', async () => {
  await using app = await createTestApp()
  const body = Bun.gzipSync(Buffer.from('{"refreshToken":"x"}'))
  for (const encoding of ['gzip', 'br', 'deflate, identity']) {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    expectFailure(await app.ask('POST', '/api/auth/refresh/v1', { body, headers }), 415)
  }
})

test('54: whatever a handler throws, the answer is the envelope and says nothing of it', async () => {
  await using app = await createTestApp()
  app.expectErrors()
  const thrown = [new Error('CANARY'), new TypeError('CANARY'), 'CANARY', { message: 'CANARY' }]
  for (const [at, error] of thrown.entries()) {
    app.app.get(`/throws/${at}`, () => {
      throw error
    })
  }
  for (const at of thrown.keys()) {
    const answer = await app.ask('GET', `/throws/${at}`)
    expectFailure(answer, 500)
    expect(answer.text).not.toContain('CANARY')
  }
  const { status, text: body } = await app.ask('GET', '/throws/0')
  expect([status, body.includes('stack')]).toEqual([500, false])
})

test('143: no password and no token reaches the log or an error', async () => {
  await using app = await createTestApp()
  const { accessToken, refreshToken } = await app.register('canary@example.com')
  const secret = 'CANARY-PASSWORD'
  await app.ask('POST', '/api/auth/login/v1', {
    json: { email: 'canary@example.com', password: secret },
  })
  const invalid = await app.ask('POST', '/api/auth/login/v1', {
    json: { email: 7, password: secret, [secret]: secret },
  })
  expect(invalid.json.details.length).toBeGreaterThan(0)
  expect(invalid.text.replace(`"path":"${secret}"`, '')).not.toContain(secret)
  await app.ask('GET', `/files/x?signature=${secret}`, { token: accessToken })
  await Bun.sleep(5)
  app.services.log.info({ password: secret, deep: { accessToken } }, 'redacted')
  const log = app.lines.join('')
  for (const canary of [secret, accessToken, refreshToken, 'canary@example.com']) {
    expect(log).not.toContain(canary)
  }
})

test('144: one line of JSON a request, whatever the path holds', async () => {
  await using app = await createTestApp()
  await app.ask('GET', '/a%0d%0a{"level":"fatal"}\u001b[31m')
  await Bun.sleep(5)
  const lines = app.lines.filter((line) => line.includes('"path"'))
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', method: 'GET', status: 404 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
  expect(lines[0]?.trimEnd()).not.toMatch(/[\u0000-\u001f]/)
})

/** The reply to a request written by hand. */
async function rawRequest(port: number, head: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let reply = ''
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(_socket, chunk) {
        reply += chunk.toString()
        if (reply.includes('\r\n\r\n')) resolve(reply)
      },
      close: () => resolve(reply),
    },
  })
  socket.write(`${head}\r\n`)
  const answer = await promise
  socket.end()
  return answer
}

type World = Awaited<ReturnType<typeof startIdentityProvider>>

/** Two users, and the good request in the name of the first, its placeholders filled in. */
async function prepare(app: TestApp, route: Route, world: World) {
  const user = await app.register('user@example.com')
  const other = await app.register('other@example.com')
  const token = route.access === 'webhook' ? WEBHOOK_TOKEN : user.accessToken
  const good: Ask = route.access === 'public' ? { ...route.good } : { ...route.good, token }
  if (route.path.includes('refresh')) good.json = { refreshToken: user.refreshToken }
  let { path } = route
  const filled = JSON.stringify(good.json ?? null)
  const fill = async (name: string, make: () => Promise<string>) => {
    if (filled.includes(name))
      good.json = JSON.parse(JSON.stringify(good.json).replace(name, await make()))
    if (path.includes(name)) path = path.replace(name, await make())
  }
  const { db, auth } = app.services
  const issue = (purpose: Parameters<typeof auth.oneTimeTokens.issue>[1]) =>
    db.write((tx) => auth.oneTimeTokens.issue(tx, purpose, user.user._id, user.user.email))
  await fill('KEY', async () => {
    const stored = await app.ask('POST', `${ATTACHMENTS}?type=supportTicket`, {
      token,
      body: 'text',
      headers: text,
    })
    return stored.json.response[0].key
  })
  await fill('SESSION', async () => {
    const json = { email: 'user@example.com', password: PASSWORD }
    await app.ask('POST', '/api/auth/login/v1', { json })
    const { response } = (await app.ask('GET', '/api/auth/sessions/v1', { token })).json
    return response.find(({ current }: { current: boolean }) => !current)._id
  })
  await fill('RESET', () => issue('reset-password'))
  await fill('VERIFY', () => issue('verify-email'))
  await fill('CHALLENGE', () => issue('two-factor'))
  await fill('ID_TOKEN', () => world.mint('google', { sub: 'g-1' }))
  await fill('CODE', () => setUpTwoFactor(app, user, !path.endsWith('confirm')))
  return { path, good, user, other }
}

/** Sets two-factor up, switches it on where `confirm` says so, and answers a code that is good now. */
async function setUpTwoFactor(app: TestApp, user: { accessToken: string }, confirm: boolean) {
  const token = user.accessToken
  const path = '/api/auth/two_factor/v1'
  const { secret } = (await app.ask('POST', path, { token, json: { password: PASSWORD } })).json
    .response
  const code = async () => (await TOTP.generate(secret, { timestamp: app.clock.now.getTime() })).otp
  if (!confirm) return code()
  await app.ask('POST', `${path}/confirm`, { token, json: { code: await code() } })
  app.clock.advance(30_000)
  return code()
}

function expectFailure(answer: Answer, status: number) {
  expect([answer.status, answer.text]).toEqual([status, answer.text])
  expect(answer.headers.get('content-type')).toStartWith('application/json')
  expect([...Value.Errors(Failure, answer.json)]).toEqual([])
}

function expectEnvelope({ json }: Answer) {
  expect(Object.keys(json).toSorted()).toEqual(
    'response' in json ? ['code', 'response'] : ['code', 'message'],
  )
}
