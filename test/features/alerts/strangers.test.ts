import { expect, test } from 'bun:test'
import { yieldToEventLoop } from '../../../src/lib/concurrency/yield-to-event-loop.ts'
import { createTestApp, WEBHOOK_TOKEN } from '../../support/app.ts'
import { openConnection, rawRequest } from '../../support/raw-request.ts'
import { serveApp } from '../../support/served.ts'
import { until } from '../../support/until.ts'

const MINUTE = 60_000
const BILLING = '/api/webhooks/billing/v1'
const APPLE = '/api/webhooks/app-store/v1'
const PLAY = '/api/webhooks/play/v1'
const EVENT = JSON.stringify({ event: { id: 'E1', type: 'TEST' } })
const NOTIFICATION = JSON.stringify({ signedPayload: 'e30.e30.c2ln' })
const PUSH = JSON.stringify({ message: { messageId: '1', data: 'e30=' }, subscription: 's' })
const SCANS = ['{}', '', '[]', 'null', '{"a":1}', 'x=1', `{"event":"${'x'.repeat(20_000)}"}`]

async function setUp(environment: Record<string, string> = {}) {
  const app = await createTestApp(environment)
  const server = serveApp(app)
  const { alerts, metrics } = app.services
  let sent = 0
  await alerts.evaluate()
  return {
    app,
    server,
    metrics,
    async send(path: string, body: string, token?: string) {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const headers = { 'content-type': 'application/json', ...authorization }
      const reply = await fetch(server.url + path, { method: 'POST', headers, body })
      sent++
      // Requests are measured after the response.
      while ((await this.count('homeport_http_replies_total')) < sent) await yieldToEventLoop()
      return reply.status
    },
    async count(name: string, labels: Record<string, string> = {}) {
      const values = (await metrics.read(name)).filter((value) =>
        Object.entries(labels).every(([label, wanted]) => String(value.labels[label]) === wanted),
      )
      return values.reduce((sum, { value }) => sum + value, 0)
    },
    /** The names of the alerts that fire after these minutes. */
    async firing(minutes = 1) {
      for (let at = 0; at < minutes; at++) {
        app.clock.advance(MINUTE)
        await alerts.evaluate()
      }
      const { rules } = await alerts.list()
      return rules.flatMap(({ name, firedAt }) => (firedAt === null ? [] : [name]))
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await app[Symbol.asyncDispose]()
    },
  }
}

test.each([
  ['with a billing provider only', {}],
  ['with a billing provider and the App Store', { APP_STORE_APPS: 'com.example.app:1234567890' }],
])('counts requests that are not deliveries, without an alert: %s', async (_name, variables) => {
  await using it = await setUp(variables)
  for (const path of [BILLING, APPLE, PLAY]) {
    for (const body of SCANS) expect(await it.send(path, body)).toBeGreaterThanOrEqual(400)
    for (let at = 0; at < 5; at++) await it.send(path, '{}', 'x')
  }
  expect(await it.firing(10)).toEqual([])
  for (const name of ['billing', 'app_store', 'play']) {
    const counted = await it.count(`homeport_${name}_deliveries_total`, { code: 'stray' })
    expect([name, counted]).toEqual([name, SCANS.length + 5])
  }
})

test('responds to a sender that withholds its body, without an alert', async () => {
  await using it = await setUp()
  const head = `POST ${BILLING} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`
  const port = Number(new URL(it.server.url).port)
  expect(await rawRequest(port, `${head}Content-Length: 200000\r\n\r\n{"event"`)).toContain(' 401 ')
  expect(await it.firing()).toEqual([])
})

test('slow bodies cause no alert', async () => {
  await using it = await setUp()
  const port = Number(new URL(it.server.url).port)
  const head = 'POST /api/auth/login/v1 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
  const [first, rest] = ['{"email":', '"ann"}']
  const length = first.length + rest.length
  const { socket, received, write } = await openConnection(port)
  write(`${head}Content-Length: ${length}\r\n\r\n${first}`)
  const at = performance.now()
  await until(() => performance.now() - at > 600, 'more than half a second has passed')
  write(rest)
  await until(() => received().includes(' 422 '), 'the request is answered')
  await until(async () => (await it.count('homeport_http_replies_total')) === 1, 'it is measured')
  expect(await it.count('homeport_http_request_duration_seconds', { le: '0.5' })).toBe(1)
  socket.end()
})

test.each([
  ['without a token', undefined],
  ['with a wrong token', 'wrong'],
])('a refused delivery %s triggers an alert while none is accepted', async (_name, token) => {
  await using it = await setUp()
  expect(await it.send(BILLING, EVENT, token)).toBe(401)
  expect(await it.firing()).toEqual(['billing-refused'])
})

test('a refused delivery causes no alert once another has been accepted, unless there are many', async () => {
  await using it = await setUp()
  await it.send(BILLING, EVENT, 'wrong')
  expect(await it.send(BILLING, EVENT, WEBHOOK_TOKEN)).toBe(200)
  expect(await it.firing(3)).toEqual([])
  for (let at = 0; at < 100; at++) await it.send(BILLING, EVENT, 'wrong')
  await it.send(BILLING, EVENT, WEBHOOK_TOKEN)
  expect(await it.firing()).toEqual(['billing-refused'])
})

test('a delivery that is refused after an accepted one triggers an alert', async () => {
  await using it = await setUp()
  await it.send(BILLING, EVENT, WEBHOOK_TOKEN)
  expect(await it.firing(2)).toEqual([])
  await it.send(BILLING, EVENT, 'wrong')
  expect(await it.firing()).toEqual(['billing-refused'])
  await it.send(BILLING, EVENT, WEBHOOK_TOKEN)
  expect(await it.firing(6)).toEqual([])
})

test.each([
  ['app-store-refused', APPLE, NOTIFICATION],
  ['play-refused', PLAY, PUSH],
])('%s needs more than ten refused notifications', async (rule, path, body) => {
  await using it = await setUp({ APP_STORE_APPS: 'com.example.app:1234567890' })
  for (let at = 0; at < 10; at++) await it.send(path, body)
  expect(await it.firing()).toEqual([])
  await it.send(path, body)
  expect(await it.firing()).toEqual([rule])
})
