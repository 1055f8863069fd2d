import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { EVENT_TYPES, type WebhookEvent } from '../../../src/features/webhooks/events.ts'
import { createTestApp } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { emit, sampleEvents, verifyMessage } from './support/events.ts'

const ALLOWED = { WEBHOOKS_ALLOW_PRIVATE: 'on' }
const USER = '01a1fecb-4162-75f8-b13e-d84fd1f88be2'
const EVENTS: [type: string, event: WebhookEvent][] = sampleEvents(USER).map((event) => [
  event.type,
  event,
])
const DAY = 24 * 3_600_000

test('the samples cover every event type', () => {
  expect(EVENTS.map(([type]) => type)).toEqual([...EVENT_TYPES])
})

test.each(EVENTS)('delivers %s once, signed, with its data', async (type, event) => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver()
  const { secret } = await addEndpoint(app, receiver.url, [type])
  await emit(app, event)
  await app.services.webhooks.flush()
  await app.services.webhooks.flush()
  const [message] = receiver.received
  expect(receiver.received).toHaveLength(1)
  expect(verifyMessage(message as never, secret)).toEqual({
    type,
    timestamp: app.clock.now.toISOString(),
    data: event.data,
  })
  expect(message?.headers['content-type']).toBe('application/json')
  const [delivery] = (await app.services.webhooks.deliveries.list({})).deliveries
  expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, nextAttemptAt: null, type })
  expect(message?.headers['webhook-id']).toBe(delivery?.messageId as string)
})

test.each(EVENTS)('retries %s after a failure, with the same id and body', async (_type, event) => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver(() => new Response('not now', { status: 503 }))
  const { secret } = await addEndpoint(app, receiver.url)
  const { webhooks } = app.services
  await emit(app, event)
  await webhooks.flush()
  const [failed] = (await webhooks.deliveries.list({})).deliveries
  expect(failed).toMatchObject({ state: 'waiting', attempts: 1 })
  await webhooks.flush()
  expect(receiver.received).toHaveLength(1)
  receiver.reply = () => new Response('thanks')
  app.clock.advance(6_000)
  await webhooks.flush()
  const [first, second] = receiver.received
  expect(receiver.received).toHaveLength(2)
  expect(second?.body).toBe(first?.body as string)
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'] as string)
  expect(second?.headers['webhook-timestamp']).not.toBe(
    first?.headers['webhook-timestamp'] as string,
  )
  verifyMessage(second as never, secret)
  const shown = await webhooks.deliveries.show(failed?.id ?? '')
  expect(shown.state).toBe('delivered')
  expect(shown.log.map(({ status, reply, fault }) => [status, reply, fault])).toEqual([
    [503, 'not now', 'The endpoint returned 503.'],
    [200, 'thanks', null],
  ])
})

test.each(EVENTS)('queues no %s for a disabled endpoint', async (_type, event) => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver()
  const { endpoint } = await addEndpoint(app, receiver.url)
  await app.services.webhooks.endpoints.disable(endpoint.id)
  await emit(app, event)
  const { webhookMessages } = app.services.db.tables
  expect(await app.services.db.read.$count(webhookMessages)).toBe(0)
  await app.services.webhooks.endpoints.enable(endpoint.id)
  await app.services.webhooks.flush()
  expect(receiver.received).toHaveLength(0)
})

test.each(EVENTS)('resends %s under the same id', async (_type, event) => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver()
  const { secret } = await addEndpoint(app, receiver.url)
  const { webhooks } = app.services
  await emit(app, event)
  await webhooks.flush()
  const [delivery] = (await webhooks.deliveries.list({})).deliveries
  app.clock.advance(60_000)
  await webhooks.deliveries.resend(delivery?.id ?? '')
  await webhooks.flush()
  const [first, second] = receiver.received
  expect(receiver.received).toHaveLength(2)
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'] as string)
  expect(verifyMessage(second as never, secret).data).toEqual(event.data)
  expect((await webhooks.deliveries.show(delivery?.id ?? '')).log).toHaveLength(2)
})

test.each(EVENTS)(
  'both secrets verify %s during a rotation, then only the new one',
  async (_type, event) => {
    await using app = await createTestApp(ALLOWED)
    using receiver = startReceiver()
    const { endpoint, secret } = await addEndpoint(app, receiver.url)
    const { webhooks } = app.services
    const rotated = await webhooks.endpoints.rotate(endpoint.id)
    await emit(app, event)
    await webhooks.flush()
    const [during] = receiver.received
    verifyMessage(during as never, secret)
    verifyMessage(during as never, rotated.secret)
    expect(during?.headers['webhook-signature']?.split(' ')).toHaveLength(2)
    app.clock.advance(DAY)
    await emit(app, event)
    await webhooks.flush()
    const after = receiver.received[1]
    expect(after?.headers['webhook-signature']?.split(' ')).toHaveLength(1)
  },
)

test('the first secret still signs after two rotations in a day', async () => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver()
  const { endpoint, secret } = await addEndpoint(app, receiver.url)
  const { webhooks } = app.services
  await webhooks.endpoints.rotate(endpoint.id)
  const rotated = await webhooks.endpoints.rotate(endpoint.id)
  await emit(app, EVENTS[0]?.[1] as never)
  await webhooks.flush()
  const [delivery] = receiver.received
  verifyMessage(delivery as never, secret)
  verifyMessage(delivery as never, rotated.secret)
  expect(delivery?.headers['webhook-signature']?.split(' ')).toHaveLength(3)
})

test('the documentation has an example with every field of each type', async () => {
  const text = await Bun.file(join(import.meta.dir, '../../../docs/webhooks.md')).text()
  const examples = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) =>
    JSON.parse(json),
  )
  const fieldsOf = ({ type, data }: { type: string; data: object }) => [type, Object.keys(data)]
  expect(examples.map(fieldsOf)).toEqual(EVENTS.map(([, event]) => fieldsOf(event)))
  for (const example of examples)
    expect(Object.keys(example)).toEqual(['type', 'timestamp', 'data'])
})

test('writes nothing when no endpoint receives the type', async () => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver()
  await addEndpoint(app, receiver.url, ['user.deleted', 'test'])
  const [created] = sampleEvents(USER)
  await emit(app, created as WebhookEvent)
  const { db } = app.services
  expect(await db.read.$count(db.tables.webhookMessages)).toBe(0)
})

test('later events of a user have later timestamps, even if the clock is set back', async () => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver()
  await addEndpoint(app, receiver.url)
  const [event] = sampleEvents(USER)
  for (const advance of [0, 0, -DAY]) {
    app.clock.advance(advance)
    await emit(app, event as WebhookEvent)
    await app.services.webhooks.flush()
  }
  const times = receiver.received.map(({ body }) => Date.parse(JSON.parse(body).timestamp))
  const [first = 0] = times
  expect(times).toEqual([first, first + 1, first + 2])
})

test('an event of a change that is rolled back is not sent', async () => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver()
  await addEndpoint(app, receiver.url)
  const { db, webhooks } = app.services
  const change = db.write(async (tx) => {
    await webhooks.emit(tx, sampleEvents(USER)[0] as WebhookEvent)
    throw new Error('rolled back')
  })
  await expect(change).rejects.toThrow('rolled back')
  await webhooks.flush()
  expect(receiver.received).toHaveLength(0)
})

test('one message goes to every endpoint that receives its type, signed with the endpoint’s own secret', async () => {
  await using app = await createTestApp(ALLOWED)
  using one = startReceiver()
  using other = startReceiver()
  const { secret } = await addEndpoint(app, one.url, ['user.created'])
  const { secret: otherSecret } = await addEndpoint(app, other.url)
  await emit(app, ...sampleEvents(USER))
  await app.services.webhooks.flush()
  expect(one.received.map((message) => verifyMessage(message, secret).type)).toEqual([
    'user.created',
  ])
  const types = other.received.map((message) => verifyMessage(message, otherSecret).type)
  expect(types.toSorted()).toEqual(EVENT_TYPES.toSorted())
  expect(() => verifyMessage(other.received[0] as never, secret)).toThrow()
})

function addEndpoint(
  { services }: Awaited<ReturnType<typeof createTestApp>>,
  url: string,
  events: string[] = ['all'],
) {
  return services.webhooks.endpoints.add({ url, events })
}

test('an account that is deleted twice concurrently is reported once', async () => {
  await using app = await createTestApp(ALLOWED)
  using receiver = startReceiver()
  await addEndpoint(app, receiver.url, ['user.deleted'])
  const { accessToken: token } = await app.register()
  await Promise.all([1, 2].map(() => app.ask('DELETE', '/api/user/profile/v1', { token })))
  await app.services.webhooks.flush()
  expect(receiver.received).toHaveLength(1)
})
