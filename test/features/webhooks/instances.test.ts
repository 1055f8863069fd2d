import { expect } from 'bun:test'
import type { WebhookEvent } from '../../../src/features/webhooks/events.ts'
import {
  createTestInstances,
  mapConcurrently,
  testInstances,
  times,
} from '../../support/instances.ts'
import { startReceiver } from '../../support/receiver.ts'
import { simulateDelay, until } from '../../support/until.ts'
import { emit, sampleEvents } from './support/events.ts'

const ALLOWED = { WEBHOOKS_ALLOW_PRIVATE: 'on' }
const [CREATED] = sampleEvents('u1') as [WebhookEvent]

testInstances(
  'two instances share the queue, and each message is sent once to each endpoint',
  async () => {
    using one = startReceiver()
    using other = startReceiver(async () => {
      await simulateDelay(20)
      return new Response()
    })
    await using instances = await createTestInstances(ALLOWED)
    const { here, both } = instances
    for (const { url } of [one, other])
      await here.services.webhooks.endpoints.add({ url, events: ['all'] })
    await mapConcurrently(times(100), (at) => emit(both[at % 2] as typeof here, CREATED))
    while (
      (await here.services.webhooks.deliveries.list({ state: 'waiting' })).deliveries.length > 0
    )
      await Promise.all(both.map(({ services }) => services.webhooks.flush()))
    for (const { received } of [one, other]) {
      const ids = received.map(({ headers }) => headers['webhook-id'])
      expect([ids.length, new Set(ids).size]).toEqual([100, 100])
    }
  },
  60_000,
)

testInstances(
  'an attempt of a stopped instance is repeated by the other after its lease',
  async () => {
    const held = Promise.withResolvers<Response>()
    using receiver = startReceiver(() => held.promise)
    await using instances = await createTestInstances(ALLOWED)
    const { here, there, clock } = instances
    await here.services.webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
    await emit(here, CREATED)
    await until(() => receiver.received.length > 0, 'no message arrives')
    receiver.reply = () => new Response()
    await there.services.webhooks.flush()
    expect(receiver.received).toHaveLength(1)
    clock.advance(31_000)
    await there.services.webhooks.flush()
    expect(receiver.received).toHaveLength(2)
    // The late result of the first attempt is logged and changes nothing else.
    held.resolve(new Response(null, { status: 500 }))
    await here.services.webhooks.flush()
    const { deliveries } = await there.services.webhooks.deliveries.list({})
    expect(deliveries).toMatchObject([{ state: 'delivered', attempts: 1 }])
    const { log } = await there.services.webhooks.deliveries.show(deliveries[0]?.id ?? '')
    expect(log.map(({ status }) => status).toSorted()).toEqual([200, 500])
  },
)

testInstances(
  'adding or disabling an endpoint on one instance takes effect on the other immediately',
  async () => {
    using receiver = startReceiver()
    await using instances = await createTestInstances(ALLOWED)
    const { here, there } = instances
    const { endpoints } = here.services.webhooks
    const { endpoint } = await endpoints.add({ url: receiver.url, events: ['all'] })
    await emit(there, CREATED)
    await there.services.webhooks.flush()
    expect(receiver.received).toHaveLength(1)
    await endpoints.disable(endpoint.id)
    await emit(there, CREATED)
    await there.services.webhooks.flush()
    expect(receiver.received).toHaveLength(1)
  },
)
