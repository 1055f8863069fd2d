import { expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'
import { startReceiver } from '../../support/receiver.ts'
import { emit, sampleEvents, verifyMessage } from './support/events.ts'

const ALLOWED = { WEBHOOKS_ALLOW_PRIVATE: 'on' }
const SECRET = /whsec_[A-Za-z0-9+/]{43}=/
const USER = '01a1fecb-4162-75f8-b13e-d84fd1f88be2'

test('every webhook command works, and every change is audited', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp(ALLOWED)
  const added = await runCommand(app, 'webhooks add', [receiver.url], {
    events: 'user.created, test',
    description: 'CRM',
  })
  const { id } = added.outcome.endpoint
  expect(added.printed).toMatch(SECRET)
  const listed = await runCommand(app, 'webhooks list')
  expect(listed.printed).toBe(`${id}\tenabled\t${receiver.url}\tuser.created,test\tCRM`)
  expect(JSON.stringify(listed.outcome)).not.toContain('secret')
  const tested = await runCommand(app, 'webhooks test', [id])
  expect(tested.printed).toMatch(/^Delivered: the endpoint returned 204 in \d+ ms\.$/)
  verifyMessage(receiver.received[0] as never, added.outcome.secret)
  await runCommand(app, 'webhooks disable', [id])
  expect((await runCommand(app, 'webhooks list')).printed).toContain('disabled (operator)')
  await runCommand(app, 'webhooks enable', [id])
  const rotated = await runCommand(app, 'webhooks rotate', [id])
  expect(rotated.printed).toMatch(SECRET)
  expect(rotated.outcome.secret).not.toBe(added.outcome.secret)
  const { printed } = await runCommand(app, 'webhooks deliveries', [], { state: 'delivered' })
  expect(printed).toContain('\ttest\tdelivered\t1 attempt\t')
  const [delivery = ''] = printed.split('\t')
  const shown = await runCommand(app, 'webhooks show', [delivery])
  expect(shown.printed).toContain(`POST ${receiver.url}\nwebhook-id: `)
  expect(shown.printed).toContain('"data":{"text":"This is a test."}')
  await runCommand(app, 'webhooks resend', [delivery])
  await app.services.webhooks.flush()
  expect(receiver.received).toHaveLength(2)
  await runCommand(app, 'webhooks remove', [id])
  expect((await runCommand(app, 'webhooks list')).printed).toBe('')
  const { entries } = await app.services.operators.audit.list({})
  expect(entries.map(({ action }) => action).toReversed()).toEqual([
    'webhooks.add',
    'webhooks.test',
    'webhooks.disable',
    'webhooks.enable',
    'webhooks.rotate',
    'deliveries.resend',
    'webhooks.remove',
  ])
  expect(JSON.stringify(entries)).not.toContain('whsec_')
})

test('a failed test reports the reason', async () => {
  using receiver = startReceiver(() => new Response('no', { status: 401 }))
  await using app = await createTestApp(ALLOWED)
  const added = await runCommand(app, 'webhooks add', [receiver.url], { events: 'all' })
  const { printed, outcome } = await runCommand(app, 'webhooks test', [added.outcome.endpoint.id])
  expect(printed).toBe('The endpoint returned 401.')
  expect(outcome).toMatchObject({ status: 401, reply: 'no' })
})

test('unknown ids and wrong options are refused', async () => {
  await using app = await createTestApp(ALLOWED)
  for (const name of ['test', 'disable', 'enable', 'rotate', 'remove', 'show', 'resend'])
    await expect(runCommand(app, `webhooks ${name}`, ['none'])).rejects.toThrow('Not found.')
  await expect(runCommand(app, 'webhooks add', ['https://8.8.8.8/'])).rejects.toThrow('--events')
  const wrong = runCommand(app, 'webhooks deliveries', [], { state: 'lost' })
  await expect(wrong).rejects.toThrow('--state must be one of')
})

test('the console manages endpoints and shows each attempt with its response', async () => {
  using receiver = startReceiver(() => new Response('busy', { status: 503 }))
  await using app = await createTestApp(ALLOWED)
  const ann = await signInOperator(app)
  const json = { url: receiver.url, events: ['all'], description: '' }
  const added = (await ann.ask('POST', 'webhooks/add', { json })).json.response
  expect(added.secret).toMatch(SECRET)
  const { endpoints, types } = await ann.read('webhooks')
  expect([endpoints.length, types.length]).toEqual([1, 9])
  const { id } = endpoints[0]
  await emit(app, ...sampleEvents(USER).slice(0, 1))
  await app.services.webhooks.flush()
  const { deliveries } = await ann.read(`deliveries?endpoint=${id}&state=waiting`)
  const shown = await ann.read(`deliveries/${deliveries[0].id}`)
  expect(shown).toMatchObject({ url: receiver.url, userId: USER, attempts: 1 })
  expect(shown.body).toContain('"type":"user.created"')
  expect(shown.log).toEqual([
    {
      at: app.clock.now.toISOString(),
      duration: expect.any(Number),
      status: 503,
      fault: 'The endpoint returned 503.',
      reply: 'busy',
    },
  ])
  receiver.reply = () => new Response()
  for (const action of ['test', 'disable', 'enable', 'rotate'])
    expect((await ann.ask('POST', `webhooks/${id}/${action}`)).status).toBe(200)
  expect((await ann.ask('POST', `deliveries/${shown.id}/resend`)).status).toBe(200)
  await app.services.webhooks.flush()
  expect((await ann.read(`deliveries/${shown.id}`)).state).toBe('delivered')
  expect((await ann.ask('POST', `webhooks/${id}/remove`)).status).toBe(200)
  expect((await ann.ask('GET', `webhooks/${id}`)).status).toBe(404)
  const { entries } = await ann.read('audit')
  const actions = entries.map(({ action }: { action: string }) => action).toReversed()
  expect(actions.filter((action: string) => /^(webhooks|deliveries)\./.test(action))).toEqual([
    'webhooks.add',
    'webhooks.test',
    'webhooks.disable',
    'webhooks.enable',
    'webhooks.rotate',
    'deliveries.resend',
    'webhooks.remove',
  ])
  expect(JSON.stringify(entries)).not.toContain('whsec_')
})

test('the overview counts endpoints that were disabled because they failed', async () => {
  using receiver = startReceiver(() => new Response(null, { status: 410 }))
  await using app = await createTestApp(ALLOWED)
  const ann = await signInOperator(app)
  const { endpoints } = app.services.webhooks
  const { endpoint: gone } = await endpoints.add({ url: receiver.url, events: ['all'] })
  const { endpoint: paused } = await endpoints.add({ url: receiver.url, events: ['all'] })
  await endpoints.disable(paused.id)
  expect((await ann.read('overview')).webhooks).toEqual({ failed: 0 })
  await app.services.webhooks.test(gone.id)
  expect((await ann.read('overview')).webhooks).toEqual({ failed: 1 })
})

test('readers cannot change webhooks, and secrets need a recent proof', async () => {
  await using app = await createTestApp(ALLOWED)
  const rita = await signInOperator(app, { name: 'rita', role: 'reader' })
  const olga = await signInOperator(app, { name: 'olga', role: 'operator' })
  const json = { url: 'https://8.8.8.8/', events: ['all'], description: '' }
  const { id } = (await olga.ask('POST', 'webhooks/add', { json })).json.response.endpoint
  const changes = ['test', 'disable', 'enable', 'rotate', 'remove'].map(
    (one) => `webhooks/${id}/${one}`,
  )
  for (const path of [...changes, 'deliveries/none/resend'])
    expect([path, (await rita.ask('POST', path)).status]).toEqual([path, 403])
  expect((await rita.ask('POST', 'webhooks/add', { json })).status).toBe(403)
  expect((await rita.read('webhooks')).endpoints).toHaveLength(1)
  app.clock.advance(11 * 60_000)
  for (const path of [`webhooks/${id}/rotate`, `webhooks/${id}/remove`])
    expect((await olga.ask('POST', path)).json.details[0].message).toBe('step_up_required')
  const added = await olga.ask('POST', 'webhooks/add', { json })
  expect(added.json.details[0].message).toBe('step_up_required')
  expect((await olga.ask('POST', `webhooks/${id}/disable`)).status).toBe(200)
})

test('the console hides the query of a URL, which is often a secret', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp(ALLOWED)
  const rita = await signInOperator(app, { name: 'rita', role: 'reader' })
  const { webhooks } = app.services
  const url = `${receiver.url}?key=secret`
  const { endpoint } = await webhooks.endpoints.add({ url, events: ['all'] })
  const { delivery } = await webhooks.test(endpoint.id)
  const paths = ['webhooks', 'webhooks/export.csv', `webhooks/${endpoint.id}`, 'metrics/endpoints']
  for (const path of [...paths, `deliveries/${delivery}`]) {
    const { text } = await rita.ask('GET', path)
    expect([path, text]).toEqual([path, expect.stringContaining(`${receiver.url}?…`)])
  }
})

test('the server API hides the queries of other endpoints', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp(ALLOWED)
  const url = `${receiver.url}?key=secret`
  await app.services.webhooks.endpoints.add({ url, events: ['all'] })
  const ask = await serverClient(app, ['webhooks:write'])
  const { json } = await ask('GET', 'webhooks/v1')
  expect(json.response).toMatchObject([{ url: `${receiver.url}?…` }])
})

test('a refused URL is explained in the console', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const json = { url: 'https://127.0.0.1/', events: ['all'], description: '' }
  const { status, json: refusal } = await ann.ask('POST', 'webhooks/add', { json })
  expect([status, refusal.details]).toEqual([
    422,
    [{ path: 'url', message: '127.0.0.1 is not a public address' }],
  ])
})

test('an endpoint runs one test at a time', async () => {
  const { promise: replied, resolve } = Promise.withResolvers<void>()
  using receiver = startReceiver(async () => {
    await replied
    return new Response()
  })
  await using app = await createTestApp(ALLOWED)
  const { webhooks } = app.services
  const { endpoint } = await webhooks.endpoints.add({ url: receiver.url, events: ['test'] })
  const first = webhooks.test(endpoint.id)
  await expect(webhooks.test(endpoint.id)).rejects.toThrow('under way')
  resolve()
  expect((await first).status).toBe(200)
  expect((await webhooks.test(endpoint.id)).status).toBe(200)
})
