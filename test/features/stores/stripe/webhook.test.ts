import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { createStripeWorld, STRIPE_PATH, type StripeWorld } from '../../../support/stripe/world.ts'
import { until } from '../../../support/until.ts'

const EVENT = {
  id: 'evt_1',
  type: 'invoice.paid',
  livemode: true,
  created: 1,
  data: { object: { id: 'in_1', subscription: 'sub_1' } },
}

type PostOptions = { secrets?: string[]; headers?: Record<string, string> }

/** Posts a body as Stripe does, and returns the status and the code. */
async function post(
  { app, stripe }: StripeWorld,
  event: unknown,
  { secrets = stripe.endpoints.live.secrets, headers = {} }: PostOptions = {},
): Promise<[number, string]> {
  const body = typeof event === 'string' ? event : JSON.stringify(event)
  const signature = stripe.webhooks.signature(body, secrets)
  const reply = await app.ask('POST', STRIPE_PATH, {
    body,
    headers: { 'content-type': 'application/json', 'stripe-signature': signature, ...headers },
  })
  return [reply.status, reply.json.code]
}

async function countStored({ app }: StripeWorld): Promise<number> {
  const { billingEvents } = app.services.db.tables
  return app.services.db.read.$count(billingEvents)
}

test('refuses events that are not signed with a secret of the webhook, and stores none', async () => {
  await using world = await createStripeWorld()
  const { app, stripe } = world
  const now = Math.floor(app.clock.now.getTime() / 1000)
  const body = JSON.stringify(EVENT)
  const [secret = ''] = stripe.endpoints.live.secrets
  const valid = stripe.webhooks.signature(body, [secret], now)
  const headers = [
    undefined,
    '',
    'v1=abc',
    `t=${now}`,
    valid.replace('v1=', 'v0='),
    valid.replace(/v1=./, 'v1=z'),
    stripe.webhooks.signature(`${body} `, [secret], now),
    stripe.webhooks.signature(body, ['whsec_other'], now),
    stripe.webhooks.signature(body, [secret], now - 301),
    stripe.webhooks.signature(body, [secret], now + 301),
  ]
  for (const signature of headers) {
    const { status, json } = await app.ask('POST', STRIPE_PATH, {
      body,
      headers: {
        'content-type': 'application/json',
        ...(signature === undefined ? {} : { 'stripe-signature': signature }),
      },
    })
    expect([signature, status, json.code]).toEqual([signature, 401, 'unauthenticated'])
  }
  expect(await countStored(world)).toBe(0)
})

test('accepts either secret during a rotation, and two signatures', async () => {
  const settings = { STRIPE_WEBHOOK_SECRET: 'whsec_old, whsec_new' }
  await using world = await createStripeWorld({}, settings)
  for (const secrets of [['whsec_old'], ['whsec_new'], ['whsec_other', 'whsec_new']]) {
    const id = `evt_${secrets.join('_')}`
    expect(await post(world, { ...EVENT, id }, { secrets })).toEqual([200, 'ok'])
  }
})

test('refuses an event whose environment differs from that of its secret', async () => {
  await using world = await createStripeWorld()
  const { live, test: sandbox } = world.stripe.endpoints
  expect(await post(world, { ...EVENT, livemode: false }, { secrets: live.secrets })).toEqual([
    401,
    'unauthenticated',
  ])
  expect(await post(world, EVENT, { secrets: sandbox.secrets })).toEqual([401, 'unauthenticated'])
})

test('an event that arrives again is a duplicate', async () => {
  await using world = await createStripeWorld()
  expect(await post(world, EVENT)).toEqual([200, 'ok'])
  expect(await post(world, EVENT)).toEqual([200, 'duplicate'])
})

test('ignores events of other types and from other accounts', async () => {
  await using world = await createStripeWorld()
  const other = { ...EVENT, type: 'payout.paid', data: { object: { id: 'po_1' } } }
  expect(await post(world, other)).toEqual([200, 'ignored'])
  expect(await post(world, { ...EVENT, id: 'evt_2', account: 'acct_1' })).toEqual([200, 'ignored'])
  expect(world.stripe.api.requests).toEqual([])
})

test.each([
  ['that is not JSON', 'text', 400],
  ['without a type', { id: 'evt_1' }, 400],
  ['with an object id that leaves the path', withObject('in_1/../../customers'), 400],
  ['with a long object id', withObject(`in_${'1'.repeat(10_000)}`), 400],
  ['of 300 kB', { ...EVENT, fill: 'x'.repeat(300_000) }, 413],
])('refuses a body %s, and does not query Stripe', async (_name, body, status) => {
  await using world = await createStripeWorld()
  expect((await post(world, body))[0]).toBe(status)
  await world.drain()
  expect(world.stripe.api.requests).toEqual([])
})

test('refuses a compressed body', async () => {
  await using world = await createStripeWorld()
  const headers = { 'content-encoding': 'gzip' }
  expect((await post(world, EVENT, { headers }))[0]).toBe(415)
})

test.each(['pinned', 'old', 'thin'] as const)('reads events in the %s format', async (shape) => {
  await using world = await createStripeWorld()
  world.stripe.endpoints.live.shape = shape
  const bought = await world.buy()
  bought.renew()
  await world.drain()
  await world.drain()
  expect(await world.list()).toMatchObject([{ status: 'active', willRenew: true }])
})

test('the events of one purchase share a request', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  const before = countReads(world)
  bought.renew()
  await world.stripe.deliver()
  expect(world.stripe.webhooks.sent.length).toBeGreaterThan(3)
  await world.drain()
  expect(countReads(world) - before).toBe(1)
})

test('the order of events does not matter', async () => {
  await using world = await createStripeWorld({
    probabilities: { shuffled: true, duplicated: 0.5 },
    seed: 4,
  })
  const bought = await world.buy()
  bought.renew()
  bought.cancelAt()
  await world.drain()
  expect(await world.list()).toMatchObject([{ status: 'active', willRenew: false }])
})

test('without a key, the webhook says what to set', async () => {
  await using app = await createTestApp()
  const { status, json } = await app.ask('POST', STRIPE_PATH, { json: EVENT })
  expect([status, json.code]).toEqual([503, 'webhook_not_configured'])
  expect(json.message).toContain('STRIPE_WEBHOOK_SECRET')
})

function withObject(id: string) {
  return { ...EVENT, data: { object: { id } } }
}

function countReads({ stripe }: StripeWorld): number {
  return stripe.api.requests.filter(({ request }) => request.startsWith('GET /v1/subscriptions/'))
    .length
}

test('queries Stripe seconds after an event, without waiting for the next check of the queue', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  bought.cancelAt()
  await world.stripe.deliver()
  world.app.clock.advance(3_000)
  const isCancelled = async () => (await world.list())[0]?.willRenew === false
  await until(isCancelled, 'the cancellation was not read')
})
