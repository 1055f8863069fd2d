import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { emit, sampleEvents, startReceiver } from '../../support/webhook-receiver.ts'

const DAY = 24 * 3_600_000

test('retries at once what a clock that was hours ahead has delayed', async () => {
  let status = 503
  using receiver = startReceiver(() => new Response(null, { status }))
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  await app.services.webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
  const { webhooks } = app.services
  const stateOf = async () => (await webhooks.deliveries.list({})).deliveries[0]?.state
  app.clock.advance(DAY / 2)
  await emit(app, ...sampleEvents('u1').slice(0, 1))
  await webhooks.flush()
  app.clock.advance(-DAY / 2)
  status = 204
  await webhooks.flush()
  expect(await stateOf()).toBe('waiting')
  await webhooks.repair()
  await webhooks.flush()
  expect(await stateOf()).toBe('delivered')
})
