import { expect, test } from 'bun:test'
import type { WebhookEvent } from '../../../src/features/webhooks/events.ts'
import { createTestApp } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { emit, sampleEvents } from './support/events.ts'
import { startWorkers } from './support/workers.ts'

const HOUR = 3_600_000
const EVENTS = 300
const [CREATED] = sampleEvents('u1') as [WebhookEvent]
/** A tenth of the durations in production. */
const TIMEOUT_MS = 1_000

test.each([
  [1, () => 100],
  [1, () => 400],
  [2, () => 400],
  [1, () => 100 + Math.random() * 300],
  [2, () => 100 + Math.random() * 300],
])(
  'receivers with %d slow workers get each of 300 events at most twice',
  async (workers, ms) => {
    using slow = startWorkers(workers, ms)
    using fast = startReceiver()
    slow.isDown = true
    await using app = await createTestApp(
      { WEBHOOKS_ALLOW_PRIVATE: 'on' },
      { webhookSending: { timeoutMs: TIMEOUT_MS } },
    )
    const { webhooks } = app.services
    for (const { url } of [slow, fast]) await webhooks.endpoints.add({ url, events: ['all'] })
    for (let count = 0; count < EVENTS; count++) await emit(app, CREATED)
    await webhooks.flush()
    expect(fast.received).toHaveLength(EVENTS)
    app.clock.advance(HOUR)
    slow.isDown = false
    while ((await webhooks.deliveries.list({ state: 'waiting' })).deliveries.length > 0) {
      await webhooks.flush()
      app.clock.advance(HOUR)
    }
    expect((await webhooks.deliveries.list({ state: 'failed' })).total).toBe(0)
    expect(slow.processed.size).toBe(EVENTS)
    expect(Math.max(...slow.processed.values())).toBeLessThanOrEqual(2)
  },
  600_000,
)
