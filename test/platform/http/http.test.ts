import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { expectFailure, throwAt } from '../../support/failure.ts'
import { fault } from '../../support/fault.ts'
import { addPasskey, createApp, creationOptions, EMAIL } from '../../support/passkey-requests.ts'
import { rawRequest } from '../../support/raw-request.ts'

test('sends the common headers with successes and failures', async () => {
  await using app = await createTestApp()
  for (const path of ['/api/user/app_settings/v1', '/api/user/profile/v1', '/nowhere']) {
    const { headers } = await app.ask('GET', path)
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; frame-ancestors 'none'",
    )
    expect(headers.get('cache-control')).toBe(
      path.includes('settings') ? 'public, max-age=0' : 'no-store',
    )
  }
})

test('no page can be framed', async () => {
  await using app = await createTestApp()
  for (const path of [
    '/',
    '/docs',
    '/console',
    '/console/people',
    '/auth/verify?token=x',
    '/auth/reset?token=x',
  ]) {
    const { headers } = await app.ask('GET', path, { headers: { accept: 'text/html' } })
    expect(headers.get('content-type')).toStartWith('text/html')
    expect([path, headers.get('content-security-policy')]).toEqual([
      path,
      expect.stringContaining("frame-ancestors 'none'"),
    ])
  }
})

test('sends HSTS only when it terminates TLS itself', async () => {
  const paths = ['/docs', '/docs/style.css', '/docs/json', '/console', '/nowhere', '/health']
  for (const [environment, expected] of [
    [{}, null],
    [{ TLS_DOMAINS: 'api.example.com' }, 'max-age=31536000'],
  ] as const) {
    await using app = await createTestApp(environment)
    for (const path of paths) {
      const { headers } = await app.ask('GET', path)
      expect([path, headers.get('strict-transport-security')]).toEqual([path, expected])
    }
  }
})

test('keeps a plain X-Request-Id and replaces any other', async () => {
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
])(`%s %s returns %d ${fault(57)}`, async (method, path, status, allow) => {
  await using app = await createTestApp()
  const answer = await app.ask(method, path)
  expectFailure(answer, status)
  expect(answer.headers.get('allow')).toBe(allow)
})

test.each([
  ['two words', 400],
  ['test, prod', 400],
  ['', 200],
  ['x'.repeat(33), 400],
  ['prod', 400],
  ['TEST', 400],
  ['test', 200],
])('the header env: %s returns %d', async (env, status) => {
  await using app = await createTestApp()
  const answer = await app.ask('GET', '/api/user/app_settings/v1', { headers: { env } })
  expect(answer.status).toBe(status)
})

test.each([
  ['invalid JSON', '{', 400],
  ['a byte order mark', '\ufeff{"refreshToken":"x"}', 401],
  ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400],
  ['no bytes', '', 400],
  [`deep nesting ${fault(47)}`, '['.repeat(30_000), 400],
  [`deep nesting that is closed ${fault(47)}`, '['.repeat(30_000) + ']'.repeat(30_000), 400],
  [`__proto__ ${fault(47)}`, '{"__proto__":{"x":1},"refreshToken":"x"}', 422],
  [`constructor ${fault(47)}`, '{"constructor":{"prototype":{"x":1}}}', 422],
  [`an infinite number ${fault(48)}`, '{"refreshToken":1e400}', 422],
])('refuses a JSON body with %s', async (_what, body, status) => {
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
])(`checks the content type %s ${fault(50)}`, async (type, status) => {
  await using app = await createTestApp()
  const body = Buffer.from('{"refreshToken":"x"}')
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
  expectFailure(await app.ask('POST', '/api/auth/refresh/v1', { body, headers }), status)
})

test(`refuses two Content-Lengths, so that they cannot bypass the limit ${fault(45)}`, async () => {
  await using app = await createTestApp()
  const body = JSON.stringify({ refreshToken: 'x'.repeat(70_000) })
  const headers = { 'content-type': 'application/json', 'content-length': '70019, 70019' }
  expectFailure(await app.ask('POST', '/api/auth/refresh/v1', { body, headers }), 400)
})

test('an invalid Host gets 400 or 404', async () => {
  await using app = await createTestApp()
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  for (const host of ['[', 'a b', 'a:99999', '%zz', '<>']) {
    const reply = await rawRequest(server.port ?? 0, `GET /nope HTTP/1.1\r\nHost: ${host}\r\n`)
    expect(reply).toMatch(/^HTTP\/1.1 40[04]/)
  }
  await server.stop(true)
})

test('refuses two Host headers', async () => {
  await using app = await createTestApp()
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  for (const second of ['a', 'b']) {
    const head = `GET /health HTTP/1.1\r\nHost: a\r\nHost: ${second}\r\n`
    expect(await rawRequest(server.port ?? 0, head)).toStartWith('HTTP/1.1 400')
  }
  await server.stop(true)
})

test(`refuses lone surrogates, which cannot be stored ${fault(49)}`, async () => {
  await using app = await createTestApp()
  const body = '{"email":"a@example.com","password":"\\ud800aaaaaaaa"}'
  const headers = { 'content-type': 'application/json' }
  expectFailure(await app.ask('POST', '/api/auth/register/v1', { body, headers }), 422)
})

test(`refuses a compressed body without inflating it ${fault(51)}`, async () => {
  await using app = await createTestApp()
  const body = Bun.gzipSync(Buffer.from('{"refreshToken":"x"}'))
  for (const encoding of ['gzip', 'br', 'deflate, identity']) {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    expectFailure(await app.ask('POST', '/api/auth/refresh/v1', { body, headers }), 415)
  }
})

test(`any thrown error gets the failure envelope without details ${fault(54)}`, async () => {
  await using app = await createTestApp()
  app.expectErrors()
  const thrown = [new Error('CANARY'), new TypeError('CANARY'), 'CANARY', { message: 'CANARY' }]
  throwAt(app, thrown)
  for (const at of thrown.keys()) {
    const answer = await app.ask('GET', `/throws/${at}`)
    expectFailure(answer, 500)
    expect(answer.text).not.toContain('CANARY')
  }
  const { status, text: body } = await app.ask('GET', '/throws/0')
  expect([status, body.includes('stack')]).toEqual([500, false])
})

test('a response that does not match its schema is not logged', async () => {
  await using app = await createApp()
  app.expectErrors()
  const { accessToken: token } = await app.register(EMAIL)
  await addPasskey(app, token)
  const { db } = app.services
  await db.write((tx) =>
    tx
      .update(db.tables.passkeys)
      .set({ id: 'x'.repeat(2_001) })
      .returning(),
  )
  expect((await creationOptions(app, token)).status).toBe(500)
  const line = app.lines.find((text) => text.includes('request failed')) ?? ''
  expect(line).toContain('/response/excludeCredentials/0/id')
  expect(line).not.toContain(EMAIL)
})

test(`no password or token reaches the log or an error ${fault(143)}`, async () => {
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
  await app.logged(/"route":"\/files\//)
  app.services.log.info({ password: secret, deep: { accessToken } }, 'redacted')
  const log = app.lines.join('')
  for (const canary of [secret, accessToken, refreshToken, 'canary@example.com']) {
    expect(log).not.toContain(canary)
  }
})

test(`logs one JSON line per request, whatever the path contains ${fault(144)}`, async () => {
  await using app = await createTestApp()
  await app.ask('GET', '/a%0d%0a{"level":"fatal"}\u001b[31m')
  await app.logged(/"method"/)
  const lines = app.lines.filter((line) => line.includes('"method"'))
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', method: 'GET', status: 404 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
  expect(lines[0]?.trimEnd()).not.toMatch(/[\u0000-\u001f]/)
})

test('logs responses of 500 and above as warnings, but not others', async () => {
  await using app = await createTestApp({ MIN_FREE_BYTES: String(2 ** 52) })
  const { accessToken: token } = await app.register()
  const path = '/api/user/attachments/v1?type=supportTicket'
  const headers = { 'content-type': 'text/plain' }
  expect((await app.ask('POST', path, { token, body: 'x', headers })).status).toBe(507)
  expect((await app.ask('GET', '/api/user/nothing/v1')).status).toBe(404)
  expect((await app.logged({ status: 507 }))['level']).toBe('warn')
  expect((await app.logged({ status: 404 }))['level']).toBe('info')
})
