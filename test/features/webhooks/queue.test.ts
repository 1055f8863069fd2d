import { expect, test } from 'bun:test'
import { checkWebhooks } from '../../../src/cli/doctor/server-state.ts'
import type { WebhookEvent } from '../../../src/features/webhooks/events.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startSmtp } from '../../support/smtp.ts'
import { until } from '../../support/until.ts'
import { emit, sampleEvents } from './support/events.ts'

const ALLOWED = { WEBHOOKS_ALLOW_PRIVATE: 'on' }
const SECOND = 1_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR
const [CREATED] = sampleEvents('u1') as [WebhookEvent]
const FAILS = () => new Response(null, { status: 500 })

test('starts the first attempt on its own, right after the commit', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp(ALLOWED)
  await addEndpoint(app, receiver.url)
  await emit(app, CREATED)
  const committedAt = performance.now()
  await until(() => receiver.received.length === 1, 'too few messages arrive')
  expect((receiver.received[0]?.at ?? 0) - committedAt).toBeLessThan(SECOND)
})

test('endpoints that never respond do not delay another one', async () => {
  using dead = startReceiver(() => new Promise<Response>(() => {}))
  using alive = startReceiver()
  await using app = await createTestApp(ALLOWED, { webhookSending: { timeoutMs: 5_000 } })
  for (let count = 0; count < 19; count++) await addEndpoint(app, dead.url)
  await addEndpoint(app, alive.url)
  const startedAt = performance.now()
  for (let count = 0; count < 20; count++) await emit(app, CREATED)
  await until(() => alive.received.length === 20, 'too few messages arrive')
  expect(performance.now() - startedAt).toBeLessThan(4 * SECOND)
  // Eight attempts to each dead endpoint are under way.
  await until(() => dead.received.length === 19 * 8, 'too few messages arrive')
})

test('a resent and a resumed delivery start on their own', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp(ALLOWED)
  const { id } = await addEndpoint(app, receiver.url)
  await emit(app, CREATED)
  await until(() => receiver.received.length === 1, 'too few messages arrive')
  const { webhooks } = app.services
  await webhooks.flush()
  await webhooks.deliveries.resend((await onlyDelivery(app)).id)
  await until(() => receiver.received.length === 2, 'too few messages arrive')
  receiver.reply = FAILS
  await emit(app, CREATED)
  await webhooks.flush()
  await webhooks.endpoints.disable(id)
  app.clock.advance(DAY)
  await webhooks.endpoints.enable(id)
  await until(() => receiver.received.length === 4, 'too few messages arrive')
})

test('the job starts due deliveries without waiting for responses', async () => {
  using dead = startReceiver(() => new Promise<Response>(() => {}))
  await using app = await createTestApp(ALLOWED)
  await addEndpoint(app, dead.url)
  await emit(app, CREATED)
  const job = app.services.jobs.find(({ name }) => name === 'queues')
  await job?.run(AbortSignal.timeout(5_000))
  await until(() => dead.received.length === 1, 'too few messages arrive')
  const startedAt = performance.now()
  await app.restart()
  expect(performance.now() - startedAt).toBeLessThan(4_500)
})

test('makes ten attempts within three days, at growing intervals', async () => {
  using receiver = startReceiver(FAILS)
  await using app = await createTestApp(ALLOWED)
  await addEndpoint(app, receiver.url)
  await emit(app, CREATED)
  const times: number[] = []
  const start = app.clock.now.getTime()
  for (let next: string | null = ''; next !== null; ) {
    await app.services.webhooks.flush()
    times.push(app.clock.now.getTime() - start)
    next = (await onlyDelivery(app)).nextAttemptAt
    if (next !== null) app.clock.now = new Date(next)
  }
  expect(receiver.received).toHaveLength(10)
  expect(times.at(-1)).toBeWithin(60 * HOUR, 72 * HOUR)
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0))
  expect(gaps).toEqual(gaps.toSorted((one, other) => one - other))
  expect(gaps[0]).toBeWithin(5 * SECOND, 5.6 * SECOND)
  expect(await onlyDelivery(app)).toMatchObject({ state: 'failed', attempts: 10 })
  app.clock.advance(10 * DAY)
  await app.services.webhooks.flush()
  expect(receiver.received).toHaveLength(10)
})

test('disables an endpoint after five days without a success, and notifies the operators', async () => {
  await using smtp = await startSmtp()
  using receiver = startReceiver(FAILS)
  const mail = { SMTP_URL: smtp.url, ALERT_EMAIL: 'ops@example.com' }
  await using app = await createTestApp({ ...ALLOWED, ...mail })
  const { id } = await addEndpoint(app, receiver.url)
  const { webhooks } = app.services
  for (let hours = 0; hours <= 119; hours += 17) {
    await emit(app, CREATED)
    await webhooks.flush()
    expect((await webhooks.endpoints.find(id)).disabledAt).toBeNull()
    app.clock.advance(17 * HOUR)
  }
  await emit(app, CREATED)
  await webhooks.flush()
  expect(await webhooks.endpoints.find(id)).toMatchObject({
    disabledAt: app.clock.now.toISOString(),
    disabledReason: 'failing',
  })
  await app.services.outbox.flush()
  const { text, subject } = await smtp.next('ops@example.com')
  expect(subject).toContain('was disabled')
  expect(text).toContain('homeport webhooks enable')
  const { failedWebhooks } = await app.services.serverState()
  const { host } = new URL(receiver.url)
  expect(failedWebhooks).toEqual([{ id, host, reason: 'failing' }])
  expect(checkWebhooks(await app.services.serverState())).toMatchObject({
    state: 'warning',
    detail: `disabled because of failures: ${host}`,
  })
})

test('a success restarts the count of days', async () => {
  using receiver = startReceiver(FAILS)
  await using app = await createTestApp(ALLOWED)
  const { id } = await addEndpoint(app, receiver.url)
  const { webhooks } = app.services
  for (let day = 0; day < 9; day++) {
    receiver.reply = day === 4 ? () => new Response() : FAILS
    await emit(app, CREATED)
    await webhooks.flush()
    app.clock.advance(DAY)
  }
  const { disabledAt, failingSince } = await webhooks.endpoints.find(id)
  expect([disabledAt, failingSince]).toEqual([
    null,
    new Date(app.clock.now.getTime() - 4 * DAY).toISOString(),
  ])
})

test('a failure long after another one does not disable a quiet endpoint', async () => {
  using receiver = startReceiver(FAILS)
  await using app = await createTestApp(ALLOWED)
  const { id } = await addEndpoint(app, receiver.url)
  for (let month = 0; month < 3; month++) {
    await emit(app, CREATED)
    await app.services.webhooks.flush()
    app.clock.advance(30 * DAY)
  }
  expect((await app.services.webhooks.endpoints.find(id)).disabledAt).toBeNull()
})

test('a disabled endpoint keeps its waiting deliveries until it is enabled', async () => {
  using receiver = startReceiver(FAILS)
  await using app = await createTestApp(ALLOWED)
  const { id } = await addEndpoint(app, receiver.url)
  const { webhooks } = app.services
  await emit(app, CREATED)
  await webhooks.flush()
  await webhooks.endpoints.disable(id)
  receiver.reply = () => new Response()
  app.clock.advance(DAY)
  await webhooks.flush()
  expect(receiver.received).toHaveLength(1)
  await expect(webhooks.deliveries.resend((await onlyDelivery(app)).id)).rejects.toThrow(
    'The endpoint is disabled. Enable it first.',
  )
  await webhooks.endpoints.enable(id)
  await webhooks.flush()
  expect(await onlyDelivery(app)).toMatchObject({ state: 'delivered', attempts: 2 })
})

test('a restart continues with undelivered messages', async () => {
  using receiver = startReceiver(() => new Promise<Response>(() => {}))
  await using app = await createTestApp(ALLOWED)
  await addEndpoint(app, receiver.url)
  await emit(app, CREATED)
  await until(() => receiver.received.length === 1, 'too few messages arrive')
  await app.restart()
  receiver.reply = () => new Response()
  await app.services.webhooks.flush()
  expect(receiver.received).toHaveLength(2)
  expect(await onlyDelivery(app)).toMatchObject({ state: 'delivered', attempts: 1 })
})

test('delivers messages that were scheduled while the clock was years ahead', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp(ALLOWED)
  await addEndpoint(app, receiver.url)
  app.clock.advance(3_650 * DAY)
  const { db, webhooks } = app.services
  await webhooks.stop()
  await emit(app, CREATED)
  expect(await db.read.$count(db.tables.webhookDeliveries)).toBe(1)
  await app.restart()
  app.clock.advance(-3_650 * DAY)
  await app.services.webhooks.flush()
  expect(receiver.received).toHaveLength(1)
})

test('removes an endpoint with its deliveries, even while an attempt is under way', async () => {
  const held = Promise.withResolvers<Response>()
  using receiver = startReceiver(() => held.promise)
  await using app = await createTestApp(ALLOWED)
  const { id } = await addEndpoint(app, receiver.url)
  await emit(app, ...sampleEvents('u1'))
  await until(() => receiver.received.length === 8, 'too few messages arrive')
  const { webhooks } = app.services
  await webhooks.endpoints.remove(id)
  held.resolve(new Response())
  await webhooks.flush()
  expect(await webhooks.endpoints.list()).toEqual([])
  expect((await webhooks.deliveries.list({})).deliveries).toEqual([])
})

test('refuses a 21st endpoint, unknown events and no events', async () => {
  await using app = await createTestApp(ALLOWED)
  const { endpoints } = app.services.webhooks
  const url = 'https://8.8.8.8/'
  for (const events of [[], ['user.created', 'nothing']])
    await expect(endpoints.add({ url, events })).rejects.toThrow('is invalid')
  for (let count = 0; count < 20; count++) await addEndpoint(app, url)
  await expect(addEndpoint(app, url)).rejects.toThrow('already 20 webhook endpoints')
})

test('lists deliveries by endpoint and state, page by page', async () => {
  using good = startReceiver()
  using bad = startReceiver(FAILS)
  await using app = await createTestApp(ALLOWED)
  const { id: goodId } = await addEndpoint(app, good.url)
  const { id: badId } = await addEndpoint(app, bad.url)
  await emit(app, ...sampleEvents('u1'))
  const { webhooks } = app.services
  await webhooks.flush()
  const delivered = await webhooks.deliveries.list({ state: 'delivered' })
  expect(new Set(delivered.deliveries.map(({ endpointId }) => endpointId))).toEqual(
    new Set([goodId]),
  )
  const first = await webhooks.deliveries.list({ endpoint: badId, limit: 4 })
  const after = first.next ?? undefined
  const second = await webhooks.deliveries.list({ endpoint: badId, limit: 5, after })
  const ids = [...first.deliveries, ...second.deliveries].map(({ id }) => id)
  expect([new Set(ids).size, second.next]).toEqual([9, null])
  expect(ids).toEqual(ids.toSorted().toReversed())
})

test('metrics count attempts by outcome and show how long the oldest delivery has waited', async () => {
  using receiver = startReceiver(FAILS)
  await using app = await createTestApp({ ...ALLOWED, METRICS_TOKEN: 'metrics-token' })
  const { id } = await addEndpoint(app, receiver.url)
  const { webhooks } = app.services
  await emit(app, CREATED)
  await webhooks.flush()
  expect(await webhooks.health.queueAge()).toBe(0)
  app.clock.advance(65 * SECOND)
  expect(await webhooks.health.queueAge()).toBeWithin(59, 61)
  const { text } = await app.ask('GET', '/metrics', { token: 'metrics-token' })
  expect(text).toMatch(/^homeport_webhook_attempts_total\{.*outcome="refused".*\} 1$/m)
  expect(text).toMatch(/^homeport_webhook_attempts_total\{.*outcome="delivered".*\} 0$/m)
  expect(text).toMatch(/^homeport_webhook_queue_age_seconds\S* \d+/m)
  await webhooks.endpoints.disable(id)
  expect(await webhooks.health.queueAge()).toBe(0)
})

function addEndpoint({ services }: TestApp, url: string) {
  return services.webhooks.endpoints.add({ url, events: ['all'] }).then(({ endpoint }) => endpoint)
}

async function onlyDelivery({ services }: TestApp) {
  const { deliveries } = await services.webhooks.deliveries.list({})
  expect(deliveries).toHaveLength(1)
  return deliveries[0] as (typeof deliveries)[number]
}
