import { expect, test } from 'bun:test'
import type { Fault } from '../../../support/stripe/api/faults.ts'
import { connect, createLibraryWorld } from '../../../support/stripe/library.ts'
import { until } from '../../../support/until.ts'

test('a repeated request gets the first reply for a day, and another body is refused', async () => {
  await using world = createLibraryWorld()
  const { client, fake } = world
  const create = (email: string) => client.customers.create({ email }, { idempotencyKey: 'k' })
  const first = await create('ann@example.com')
  const again = await create('ann@example.com')
  const isReplayed = new Headers(again.lastResponse.headers).get('idempotent-replayed')
  expect([again.id, isReplayed]).toEqual([first.id, 'true'])
  await expect(create('bob@example.com')).rejects.toMatchObject({ rawType: 'idempotency_error' })
  fake.advance(86_400_000)
  expect((await create('ann@example.com')).id).not.toBe(first.id)
})

test('a second request with the same key is refused while the first one runs', async () => {
  await using world = createLibraryWorld()
  const { client, fake } = world
  const gate = Promise.withResolvers<void>()
  fake.api.held = gate.promise
  const create = () => client.customers.create({}, { idempotencyKey: 'k' })
  const first = create()
  await until(() => fake.api.requests.length === 1, 'the first request did not arrive')
  await expect(create()).rejects.toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' })
  gate.resolve()
  expect((await create()).id).toBe((await first).id)
})

test('a lost reply is repeated for the same key', async () => {
  await using world = createLibraryWorld()
  const { client, fake } = world
  fake.api.faults.push({ kind: 'cut', afterEffect: true })
  const create = () => client.customers.create({}, { idempotencyKey: 'k' })
  await expect(create()).rejects.toThrow()
  await create()
  const made = fake.events.all.filter(({ type }) => type === 'customer.created')
  expect(made).toHaveLength(1)
})

test('a restricted key is refused with the permission that it lacks', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const reader = connect(fake, fake.keys.add(true, { customer: 'read' }))
  const { id } = fake.createCustomer()
  expect((await reader.customers.retrieve(id)).id).toBe(id)
  await expect(reader.customers.del(id)).rejects.toMatchObject({
    statusCode: 403,
    message: expect.stringContaining('rak_customer_write'),
  })
  const subscription = fake.subscribe()
  const narrow = connect(fake, fake.keys.add(true, { subscription: 'read' }))
  await narrow.subscriptions.retrieve(subscription.id)
  const expand = ['latest_invoice']
  await expect(narrow.subscriptions.retrieve(subscription.id, { expand })).rejects.toMatchObject({
    message: expect.stringContaining('rak_invoice_read'),
  })
})

test('unknown and expired keys, and objects of the other mode, are refused', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  await expect(connect(fake, 'sk_live_unknown').events.list()).rejects.toMatchObject({
    statusCode: 401,
  })
  const key = fake.keys.add(true)
  fake.keys.expire(key)
  await expect(connect(fake, key).events.list()).rejects.toMatchObject({ code: 'api_key_expired' })
  const { id } = fake.createCustomer({}, false)
  await expect(client.customers.retrieve(id)).rejects.toMatchObject({
    code: 'resource_missing',
    message: expect.stringContaining('exists in test mode'),
  })
})

test('invalid requests are refused with the name of the parameter', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const price = fake.createPrice({ isActive: false })
  const customer = fake.createCustomer()
  fake.deleteCustomer(customer)
  const cases: [what: Parameters<typeof world.openSession>[0], error: object][] = [
    [{ customer: customer.id }, { param: 'customer', code: 'resource_missing' }],
    [{ line_items: [{ price: price.id, quantity: 1 }] }, { param: 'line_items[0][price]' }],
    [{ success_url: 'no url' }, { param: 'success_url', code: 'url_invalid' }],
    [{ expires_at: fake.now() + 60 }, { param: 'expires_at' }],
    [{ submit_type: 'pay' }, { param: 'submit_type', code: 'parameter_unknown' }],
  ]
  for (const [params, error] of cases) {
    await expect(world.openSession(params)).rejects.toMatchObject({ statusCode: 400, ...error })
  }
  await expect(client.rawRequest('GET', '/v1/unheard_of')).rejects.toMatchObject({
    statusCode: 404,
  })
})

test('requests over the limit per second are refused', async () => {
  await using world = createLibraryWorld()
  const { client, fake } = world
  fake.api.limits = { perSecond: 100, perEndpoint: 2 }
  const all = Array.from({ length: 6 }, () => client.events.list())
  const failed = (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected')
  expect(failed.length).toBeGreaterThan(0)
  expect(failed[0]).toMatchObject({ reason: { statusCode: 429, code: 'rate_limit' } })
})

test('faults break the requests that they name, once each', async () => {
  await using world = createLibraryWorld()
  const { client, fake } = world
  const faults: Fault[] = [
    { kind: 'error', status: 500 },
    { kind: 'error', status: 429, code: 'lock_timeout' },
    { kind: 'cut' },
    { kind: 'not_json' },
    { kind: 'redirect', location: 'http://127.0.0.1:1/' },
  ]
  for (const fault of faults) {
    fake.api.faults.push({ ...fault, on: 'GET /v1/events' })
    await client.prices.list()
    await expect(client.events.list()).rejects.toThrow()
    await client.events.list()
  }
  fake.api.faults.push({ kind: 'oversized' })
  const reply = await fetch(`${fake.url}/v1/events`)
  expect((await reply.arrayBuffer()).byteLength).toBeGreaterThan(5_000_000)
})
