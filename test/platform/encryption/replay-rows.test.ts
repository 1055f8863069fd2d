import { expect, test } from 'bun:test'
import { sha256 } from '../../../src/lib/crypto/hash.ts'
import { createFailureLimit } from '../../../src/platform/limits/failure-limit.ts'
import { createClock, createTestApp, type TestApp } from '../../support/app.ts'
import { messagesFor } from '../../support/messages.ts'
import { routeEnvironment, routes } from '../../support/routes.ts'

const LOGIN = '/api/auth/login/v1'
const MAX_FAILURES = 3_000

test('a sealed request to an unknown route stores nothing', async () => {
  await using app = await createTestApp()
  const { post, seal } = await messagesFor(app)
  for (const [method, path, status] of [
    ['POST', '/api/nothing/v1', 404],
    ['POST', '/api/auth/register/v0', 404],
    ['DELETE', LOGIN, 405],
    ['POST', '/api/user/app_settings/v1', 405],
  ] as const) {
    const message = seal({ head: { htm: method, htu: path } })
    expect([path, (await post(method, path, message)).status]).toEqual([path, status])
  }
  expect(await countSealedRequests(app)).toBe(0)
})

test('every changing route carries out a sealed request only once', async () => {
  await using app = await createTestApp({ ...routeEnvironment, RATE_LIMITS: 'off' })
  const { post, seal } = await messagesFor(app)
  for (const { method, path, good } of routes.filter((route) => route.method !== 'GET')) {
    const { accessToken: at } = await app.register()
    const body = (good.body ?? JSON.stringify(good.json ?? {})) as string
    const cty = good.headers?.['content-type'] ?? 'application/json'
    const head = { htm: method, htu: path, at, ath: sha256(at) }
    const message = seal({ head, header: { cty }, body })
    const headers = { 'content-length': String(message.length) }
    const before = await countSealedRequests(app)
    const first = await post(method, path, message, { headers })
    expect([method, path, first.status < 500]).toEqual([method, path, true])
    expect([method, path, await countSealedRequests(app)]).toEqual([method, path, before + 1])
    const again = await post(method, path, message, { headers })
    expect([method, path, again.status, again.json.code]).toEqual([
      method,
      path,
      409,
      'encryption_replay',
    ])
  }
})

test('refuses a replay even after a sweep by an instance whose clock is 19 minutes ahead', async () => {
  await using app = await createTestApp()
  const { post, patchName } = await messagesFor(app)
  const { accessToken } = await app.register()
  const path = '/api/user/profile/v1'
  const message = patchName(accessToken, 'Ann')
  expect((await post('PATCH', path, message)).status).toBe(200)
  app.clock.advance(1_137_000)
  await app.services.replayGuard.sweep()
  app.clock.advance(-1_137_000)
  expect((await post('PATCH', path, message)).json.code).toBe('encryption_replay')
})

test('limits failures per IP address for ten minutes and does not count successes', () => {
  const clock = createClock()
  const { countFailure, release } = createFailureLimit({
    hasLimits: true,
    max: 3_000,
    now: () => clock.now,
  })
  const request = () => new Request('http://localhost')
  for (let at = 0; at < 2 * MAX_FAILURES; at++) {
    const succeeding = request()
    countFailure(succeeding, '10.0.0.1')
    release(succeeding)
  }
  for (let at = 0; at < MAX_FAILURES; at++) countFailure(request(), '10.0.0.1')
  expect(() => countFailure(request(), '10.0.0.1')).toThrow('Too many attempts')
  countFailure(request(), '10.0.0.2')
  clock.advance(11 * 60_000)
  countFailure(request(), '10.0.0.1')
})

function countSealedRequests(app: TestApp): Promise<number> {
  const { db } = app.services
  return db.read.$count(db.tables.sealedRequests)
}
