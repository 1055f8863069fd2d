import { expect, test } from 'bun:test'
import type { WebhookEvent } from '../../../src/features/webhooks/events.ts'
import { createTestApp } from '../../support/app.ts'
import { deliver, purchase } from '../../support/billing.ts'
import { signInOperator } from '../../support/operator.ts'
import { startReceiver } from '../../support/receiver.ts'
import { simulateDelay } from '../../support/until.ts'
import { emit, sampleEvents } from './support/events.ts'

const [CREATED] = sampleEvents('u1') as [WebhookEvent]
const DAY = 24 * 3_600_000

test('counts the delivered, retried, failed and waiting deliveries of each endpoint', async () => {
  using receiver = startReceiver(async () => {
    await simulateDelay(30)
    return new Response(null, { status: receiver.received.length === 1 ? 204 : 500 })
  })
  using idle = startReceiver()
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  const { webhooks, recorder } = app.services
  for (const { url } of [receiver, idle])
    await webhooks.endpoints.add({ url, events: ['all'], description: '' })
  await emit(app, CREATED)
  await webhooks.flush()
  await emit(app, CREATED)
  await webhooks.flush()
  receiver.reply = () => new Response(null, { status: 410 })
  await emit(app, CREATED)
  await webhooks.flush()
  await recorder.flush()
  const ann = await signInOperator(app)
  const { outgoing } = await ann.read('metrics/endpoints')
  const [first, other] = outgoing.toSorted(
    (one: { failed: number }, two: { failed: number }) => two.failed - one.failed,
  )
  expect(first).toMatchObject({ delivered: 1, retried: 1, failed: 1, waiting: 1 })
  expect(first.p99).toBeWithin(29, 1_000)
  expect(other).toMatchObject({ delivered: 3, retried: 0, failed: 0, waiting: 0 })
})

test('counts received, conflicting and failed billing events, and their delay', async () => {
  await using app = await createTestApp()
  const now = app.clock.now.getTime()
  const event = purchase('u1', { event_timestamp_ms: now - 40_000, id: 'E1' })
  await deliver(app, event)
  await deliver(app, event)
  await deliver(app, { ...event, price: 3 })
  await deliver(app, purchase('u2', { event_timestamp_ms: now - 3 * DAY, id: 'E2' }))
  await app.services.recorder.flush()
  const ann = await signInOperator(app)
  const { incoming } = await ann.read('metrics/endpoints')
  expect(incoming).toMatchObject([
    { provider: 'revenuecat', received: 4, conflicting: 1, failed: 0 },
  ])
  expect(incoming[0].p50).toBeWithin(40, 48)
  expect(incoming[0].p99).toBeWithin(3 * 86_400, 3.6 * 86_400)
})
