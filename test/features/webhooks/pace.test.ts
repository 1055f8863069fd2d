import { expect, test } from 'bun:test'
import type { WebhookEvent } from '../../../src/features/webhooks/events.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { simulateDelay, until } from '../../support/until.ts'
import { emit, sampleEvents } from './support/events.ts'
import { startWorkers } from './support/workers.ts'

const ALLOWED = { WEBHOOKS_ALLOW_PRIVATE: 'on' }
const HOUR = 3_600_000
/** Responses take 10 to 40% of the time-out, as those of 1 to 4 s do in production. */
const TIMEOUT_MS = 400
const [CREATED] = sampleEvents('u1') as [WebhookEvent]

test.each([
  [1, 60],
  [1, 150],
  [2, 120],
])(
  'delivers a burst to a receiver with %d workers that need %d ms',
  async (workers, ms) => {
    using slow = startWorkers(workers, () => ms)
    using fast = startReceiver()
    await using app = await createTestApp(ALLOWED, { webhookSending: { timeoutMs: TIMEOUT_MS } })
    await addEndpoint(app, slow.url)
    await addEndpoint(app, fast.url)
    const startedAt = performance.now()
    for (let count = 0; count < 12; count++) await emit(app, CREATED)
    await until(() => fast.received.length === 12, 'the fast endpoint is delayed')
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    await deliverAll(app)
    expect(slow.processed.size).toBe(12)
    expect(Math.max(...slow.processed.values())).toBeLessThanOrEqual(3)
  },
  60_000,
)

test('after an outage, a receiver with one worker gets no request twice', async () => {
  using slow = startWorkers(1, () => 100)
  slow.isDown = true
  await using app = await createTestApp(ALLOWED, { webhookSending: { timeoutMs: TIMEOUT_MS } })
  await addEndpoint(app, slow.url)
  for (let count = 0; count < 12; count++) await emit(app, CREATED)
  for (let failures = 0; failures < 5; failures++) {
    await app.services.webhooks.flush()
    app.clock.advance(HOUR)
  }
  slow.isDown = false
  await deliverAll(app)
  expect([slow.processed.size, Math.max(...slow.processed.values())]).toEqual([12, 1])
}, 60_000)

test('sends one request at a time after timeouts, and more after successes', async () => {
  const waiting = new Set<() => void>()
  let isHanging = true
  let most = 0
  using receiver = startReceiver(async () => {
    if (isHanging) return new Promise<Response>(() => {})
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.add(resolve)
    most = Math.max(most, waiting.size)
    void simulateDelay(5).then(resolve)
    await promise.finally(() => waiting.delete(resolve))
    return new Response()
  })
  await using app = await createTestApp(ALLOWED, { webhookSending: { timeoutMs: TIMEOUT_MS } })
  await addEndpoint(app, receiver.url)
  for (let count = 0; count < 80; count++) await emit(app, CREATED)
  await until(() => receiver.received.length === 9, 'the pause does not end')
  // Eight at first, then a single one.
  const [eighth, ninth] = receiver.received.slice(7)
  expect((ninth?.at ?? 0) - (eighth?.at ?? 0)).toBeGreaterThan(8 * TIMEOUT_MS)
  isHanging = false
  await deliverAll(app)
  expect(most).toBe(8)
}, 60_000)

/** Flushes until every delivery has arrived; the time between two attempts passes immediately. */
async function deliverAll(app: TestApp) {
  const { webhooks } = app.services
  while ((await webhooks.deliveries.list({ state: 'waiting' })).deliveries.length > 0) {
    await webhooks.flush()
    app.clock.advance(HOUR)
  }
  expect((await webhooks.deliveries.list({ state: 'failed' })).total).toBe(0)
}

function addEndpoint({ services }: TestApp, url: string) {
  return services.webhooks.endpoints.add({ url, events: ['all'] })
}
