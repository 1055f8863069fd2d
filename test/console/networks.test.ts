import { describe, expect, test } from 'bun:test'
import { createConsoleApp } from '../../src/server/app.ts'
import { createTestApp, type TestApp } from '../support/app.ts'

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }

describe('outside CONSOLE_NETWORKS', () => {
  test('every route answers 404, whatever headers are sent', async () => {
    await using app = await createTestApp({ CONSOLE_NETWORKS: '10.0.0.0/8, 192.0.2.7' })
    await using caller = await listen(app, { 'x-forwarded-for': '10.0.0.1' })
    const routes = createConsoleApp(app.services).routes.filter(({ path }) =>
      path.startsWith('/console/api'),
    )
    expect(routes).not.toBeEmpty()
    const nowhere = await caller.ask('GET', '/console/api/nowhere')
    for (const { method, path } of routes) {
      const found = await caller.ask(method, path)
      expect([path, found.status, found.text]).toEqual([path, 404, nowhere.text])
    }
  })

  test('a wrong method and an invalid body get 404 too', async () => {
    await using app = await createTestApp({ CONSOLE_NETWORKS: '10.0.0.0/8' })
    await using caller = await listen(app)
    const replies = [
      await caller.ask('DELETE', '/console/api/me'),
      await caller.ask('OPTIONS', '/console/api/me'),
      await caller.ask('POST', '/console/api/login/sign-in', '{not json'),
    ]
    expect(replies.map(({ status }) => status)).toEqual([404, 404, 404])
  })
})

test('admits callers inside CONSOLE_NETWORKS', async () => {
  await using app = await createTestApp({ CONSOLE_NETWORKS: '127.0.0.0/8' })
  await using caller = await listen(app)
  expect((await caller.ask('GET', '/console/api/login/state')).status).toBe(200)
  expect((await caller.ask('GET', '/console/api/me')).status).toBe(401)
})

test('does not treat a forwarded request as local', async () => {
  const environment = { CONSOLE_NETWORKS: '127.0.0.0/8' }
  await using app = await createTestApp(environment)
  await using hidden = await listen(app, { 'x-real-ip': '203.0.113.9' })
  expect((await hidden.ask('GET', '/console/api/login/state')).status).toBe(404)
  await using trusting = await createTestApp({ ...environment, TRUSTED_PROXIES: '127.0.0.1' })
  await using forwarded = await listen(trusting, { 'x-forwarded-for': '127.0.0.1' })
  expect((await forwarded.ask('GET', '/console/api/login/state')).status).toBe(200)
})

test.each([
  ['203.0.113.5', 404],
  ['203.0.113.5:51234', 404],
  ['[2001:db8::1]:443', 404],
  ['unknown', 404],
  ['127.0.0.1:51234', 200],
])('behind a trusted proxy, a client that it names as %s gets %i', async (client, status) => {
  const environment = { CONSOLE_NETWORKS: '127.0.0.0/8', TRUSTED_PROXIES: '127.0.0.1' }
  await using app = await createTestApp(environment)
  await using caller = await listen(app, { 'x-forwarded-for': client })
  expect((await caller.ask('GET', '/console/api/login/state')).status).toBe(status)
})

/** The app on a real port. */
async function listen(app: TestApp, headers: Record<string, string> = {}) {
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  return { ask, [Symbol.asyncDispose]: () => server.stop(true) }

  async function ask(method: string, path: string, body?: string) {
    const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      headers: { ...headers, ...SAME_ORIGIN, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    })
    const text = (await reply.text()).replace(/"requestId":"[^"]+"/, '')
    return { status: reply.status, text }
  }
}
