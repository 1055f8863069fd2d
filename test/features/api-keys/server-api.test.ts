import { expect, test } from 'bun:test'
import { SCOPES, type Scope } from '../../../src/lib/scopes.ts'
import { createKey } from '../../support/api-keys.ts'
import { type Ask, createTestApp, type TestApp } from '../../support/app.ts'
import { loadServerRequests } from '../../support/server-requests.ts'

const requests = await loadServerRequests()
const routes = await describedRoutes()

test('every documented route of the server API has a test request from its feature', () => {
  expect(routes.map(({ name }) => name).toSorted()).toEqual(Object.keys(requests).toSorted())
  for (const { scope } of routes) expect(SCOPES).toContain(scope)
})

test.each(routes)(
  '$name accepts only a key with the scope $scope',
  async ({ name, scope, responses }) => {
    await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
    const { user, accessToken } = await app.register()
    const [method = '', pattern = ''] = name.split(' ')
    const context = { app, userId: user._id, accessToken }
    const { path = pattern, ...request } = (await requests[name]?.(context)) ?? {}
    const ask = async (more: Ask) => {
      const headers = { ...request.headers, ...more.headers }
      const answer = await app.ask(method, path, { ...request, ...more, headers })
      const documented = responses[answer.status]?.headers ?? {}
      const isLocalized = answer.headers.get('content-language') !== null
      expect([answer.status, 'Content-Language' in documented]).toEqual([
        answer.status,
        isLocalized,
      ])
      return answer
    }
    const others = SCOPES.filter((other) => other !== scope)
    const { secret: right, name: rightName } = await createKey(app, { scopes: [scope] })
    const keyFor = async (wanted: Parameters<typeof createKey>[1]) =>
      (await createKey(app, wanted)).secret
    const revoked = await keyFor({ name: 'revoked' })
    await app.services.apiKeys.revoke('revoked')
    const expired = await keyFor({ expiresInMs: 1_000 })
    app.clock.advance(1_000)
    const elsewhere = await keyFor({ networks: ['192.0.2.0/24'] })
    const refusals: [Ask, number, string][] = [
      [{}, 401, 'unauthenticated'],
      [
        { token: `${right.slice(0, -1)}${right.endsWith('0') ? '1' : '0'}` },
        401,
        'unauthenticated',
      ],
      [{ token: accessToken }, 401, 'unauthenticated'],
      [{ token: revoked }, 401, 'unauthenticated'],
      [{ token: expired }, 401, 'unauthenticated'],
      [{ token: elsewhere }, 403, 'forbidden'],
      [{ token: await keyFor({ scopes: others }) }, 403, 'forbidden'],
      [{ token: right, headers: { origin: 'https://app.example.com' } }, 403, 'forbidden'],
    ]
    for (const [refused, status, code] of refusals) {
      const answer = await ask(refused)
      expect([answer.status, answer.json.code]).toEqual([status, code])
    }
    const refused = await app.services.operators.audit.list({ operator: `API key ${rightName}` })
    expect(refused).toMatchObject({ entries: [], next: null })
    const { status, text } = await ask({ token: right })
    expect([status, text]).toEqual([200, expect.any(String)])
    const { entries } = await app.services.operators.audit.list({
      operator: `API key ${rightName}`,
    })
    // The user's data and uses of limits are not in the audit log.
    const isRecorded = /:write$/.test(scope) && !/^GET|\/data$|\/usage\//.test(name)
    expect(entries.length).toBe(isRecorded ? 1 : 0)
  },
)

test('refuses a key beyond its rate limit until the minute ends', async () => {
  await using app = await createTestApp()
  const { secret: token } = await createKey(app, { requestsPerMinute: 2 })
  const ask = () => app.ask('GET', '/api/server/users/v1', { token })
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
  const refused = await ask()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
  app.clock.advance(60_000)
  expect((await ask()).status).toBe(200)
})

test('stores a key only as a hash, shows it once and records its last use', async () => {
  await using app = await createTestApp({ LOG_LEVEL: 'debug' })
  const { secret, prefix } = await createKey(app, { name: 'web' })
  expect(secret).toMatch(/^hp_[0-9A-Za-z]{38}$/)
  await app.ask('GET', '/api/server/users/v1', { token: secret })
  const usedAt = app.clock.now.toISOString()
  expect((await app.services.apiKeys.list())[0]?.lastUsedAt).toBe(usedAt)
  await app.services.apiKeys.flushUses()
  const [listed] = await app.services.apiKeys.list()
  expect(listed).toMatchObject({ name: 'web', prefix, status: 'active' })
  expect(listed?.lastUsedAt).toBe(usedAt)
  await app.logged({ apiKey: 'web' })
  const { db } = app.services
  const stored = JSON.stringify(await db.read.select().from(db.tables.apiKeys))
  expect(secret.startsWith(prefix)).toBe(true)
  for (const place of [stored, JSON.stringify(listed), app.lines.join()])
    expect(place).not.toContain(secret.slice(prefix.length))
})

test('the server API accepts plain requests where payloads must be encrypted', async () => {
  await using app = await createTestApp({ PAYLOAD_ENCRYPTION: 'required' })
  const { secret: token } = await createKey(app)
  expect((await app.ask('GET', '/api/server/users/v1', { token })).status).toBe(200)
  expect((await app.ask('GET', '/api/user/profile/v1')).status).toBe(403)
})

type Operation = { 'x-scope': Scope; responses: Record<string, { headers?: object }> }

async function describedRoutes() {
  await using app: TestApp = await createTestApp()
  const { paths } = (await app.ask('GET', '/docs/server/json')).json as {
    paths: Record<string, Record<string, Operation>>
  }
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      scope: operation['x-scope'],
      responses: operation.responses,
    })),
  )
}

test('a key is not refused for long after a clock that was ahead is set back', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  const { secret: token } = await createKey(app, { requestsPerMinute: 2 })
  const ask = () => app.ask('GET', `/api/server/users/v1/${user._id}`, { token })
  app.clock.advance(2 * 86_400_000)
  await ask()
  app.clock.advance(-2 * 86_400_000)
  for (let minute = 0; minute < 3; minute++) {
    app.clock.advance(60_000)
    expect((await ask()).status).toBe(200)
  }
})
