import { expect, test } from 'bun:test'
import type { WebhookEvent } from '../../../src/features/webhooks/events.ts'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'
import { emit, sampleEvents } from './support/events.ts'

const ALLOWED = { WEBHOOKS_ALLOW_PRIVATE: 'on' }
const DAY = 86_400_000
const FAILS = () => new Response(null, { status: 500 })
const [CREATED, UPDATED] = sampleEvents('u1') as [WebhookEvent, WebhookEvent]

test('waiting deliveries go to the new URL immediately', async () => {
  using former = startReceiver(FAILS)
  using next = startReceiver()
  await using app = await createTestApp(ALLOWED)
  const { webhooks } = app.services
  const { endpoint } = await webhooks.endpoints.add({
    url: former.url,
    events: ['user.created'],
  })
  await emit(app, CREATED, UPDATED)
  for (let attempts = 0; attempts < 7; attempts++) {
    await webhooks.flush()
    app.clock.advance(DAY / 3)
  }
  await webhooks.flush()
  const before = former.received.length
  const options = { url: `${next.url}?key=secret`, events: 'user.updated', description: 'CRM' }
  const changed = await runCommand(app, 'webhooks change', [endpoint.id], options)
  expect(changed.printed).toBe(`${next.url}?key=secret receives user.updated.`)
  await until(() => next.received.length === 1, 'the waiting delivery is not sent')
  await webhooks.flush()
  expect(former.received).toHaveLength(before)
  expect(await webhooks.endpoints.find(endpoint.id)).toMatchObject({
    description: 'CRM',
    failingSince: null,
  })
  await emit(app, CREATED, UPDATED)
  await webhooks.flush()
  expect(next.received).toHaveLength(2)
  const { entries } = await app.services.operators.audit.list({})
  expect(JSON.stringify(entries)).not.toContain('key=secret')
})

test('a response from the former URL does not disable an endpoint with a new URL', async () => {
  const held = Promise.withResolvers<Response>()
  using former = startReceiver(() => held.promise)
  using next = startReceiver()
  await using app = await createTestApp(ALLOWED)
  const { webhooks } = app.services
  const { endpoint } = await webhooks.endpoints.add({ url: former.url, events: ['all'] })
  await emit(app, CREATED)
  await until(() => former.received.length === 1, 'the message does not arrive')
  await webhooks.endpoints.change(endpoint.id, { url: next.url })
  held.resolve(new Response(null, { status: 410 }))
  await webhooks.flush()
  expect(await webhooks.endpoints.find(endpoint.id)).toMatchObject({ disabledAt: null })
})

test('refuses changes that would be invalid for a new endpoint', async () => {
  await using app = await createTestApp()
  const { endpoints } = app.services.webhooks
  const { endpoint } = await endpoints.add({ url: 'https://8.8.8.8/', events: ['all'] })
  for (const change of [
    { url: 'https://10.0.0.1/' },
    { url: 'http://8.8.8.8/' },
    { events: [] },
    { events: ['nothing'] },
    { description: 'a\nb' },
  ])
    await expect(endpoints.change(endpoint.id, change)).rejects.toThrow('is invalid')
  await expect(endpoints.change('none', {})).rejects.toMatchObject({ code: 'not_found' })
  await expect(runCommand(app, 'webhooks change', [endpoint.id])).rejects.toThrow('Specify --url')
  expect(await endpoints.find(endpoint.id)).toEqual(endpoint)
})

test('all failed deliveries of an endpoint are sent again', async () => {
  using receiver = startReceiver(() => new Response(null, { status: 410 }))
  using other = startReceiver(() => new Response(null, { status: 410 }))
  await using app = await createTestApp(ALLOWED)
  const { webhooks } = app.services
  const { id } = (await webhooks.endpoints.add({ url: receiver.url, events: ['all'] })).endpoint
  await webhooks.endpoints.add({ url: other.url, events: ['all'] })
  for (let count = 0; count < 3; count++) await emit(app, CREATED)
  const failed = async () => (await webhooks.deliveries.list({ state: 'failed' })).total
  await until(async () => (await failed()) === 6, 'not all deliveries have failed')
  await expect(webhooks.deliveries.resendFailed(id)).rejects.toThrow('Enable it first.')
  receiver.reply = () => new Response()
  await webhooks.endpoints.enable(id)
  await webhooks.flush()
  const { printed } = await runCommand(app, 'webhooks resend-failed', [id])
  expect(printed).toBe('Queued 3 deliveries.')
  await until(() => receiver.received.length === 6, 'the deliveries are not sent again')
  await webhooks.flush()
  expect(await failed()).toBe(3)
  expect((await runCommand(app, 'webhooks resend-failed', [id])).outcome).toBe(0)
})

test('the console and the server API change endpoints and send failed deliveries again', async () => {
  using former = startReceiver(FAILS)
  using next = startReceiver()
  await using app = await createTestApp(ALLOWED)
  const ask = await serverClient(app)
  const { endpoint } = await app.services.webhooks.endpoints.add({
    url: former.url,
    events: ['all'],
  })
  const ann = await signInOperator(app)
  const path = `webhooks/v1/${endpoint.id}`
  const json = { url: `${next.url}?a=b`, events: ['user.created'] }
  const changed = await ask('PATCH', path, { json })
  expect(changed.json.response).toMatchObject({ url: `${next.url}?…`, events: ['user.created'] })
  expect((await ask('PATCH', path, { json: { url: 'nonsense' } })).status).toBe(422)
  expect((await ask('POST', `${path}/resend_failed`)).json.response).toEqual({ resent: 0 })
  const byConsole = await ann.ask('POST', `webhooks/${endpoint.id}/change`, {
    json: { events: ['all'] },
  })
  expect(byConsole.json.response).toMatchObject({ url: `${next.url}?…`, events: ['all'] })
  const resent = await ann.ask('POST', `webhooks/${endpoint.id}/resend-failed`)
  expect(resent.json.response).toEqual({ resent: 0 })
  const { entries } = await app.services.operators.audit.list({})
  const actions = entries.map(({ action }) => action).filter((one) => one.startsWith('webhooks'))
  expect(actions.toReversed()).toEqual([
    'webhooks.change',
    'webhooks.resend-failed',
    'webhooks.change',
    'webhooks.resend-failed',
  ])
})
