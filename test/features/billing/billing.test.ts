import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { createTestApp, type TestApp, WEBHOOK_TOKEN } from '../../support/app.ts'
import { billingSamples } from '../../support/billing-samples.ts'
import { fault } from '../../support/fault.ts'

const PATH = '/api/webhooks/billing/v1'

test('acknowledges captured events, stores them byte for byte and recognizes duplicates', async () => {
  await using app = await createTestApp()
  await deliverFolder(app, join(import.meta.dir, '..', '..', 'fixtures', 'billing'))
})

test('acknowledges, stores and deduplicates every event type of every store', async () => {
  await using app = await createTestApp()
  expect(billingSamples.length).toBeGreaterThan(35)
  for (const delivery of billingSamples) await deliverTwice(app, delivery.event.id, delivery)
  expect((await app.services.rebuildBilling(AbortSignal.timeout(10_000))).changed).toEqual([])
  expect((await app.services.eventSearch.find({ outcome: 'failed' })).events).toEqual([])
})

test('returns `ok` to an event that affects access, and `ignored` to test events and unknown types', async () => {
  await using app = await createTestApp()
  const codes: Record<string, string> = {}
  // `constructor` is a property of every object.
  for (const type of ['EXPIRATION', 'TEST', 'PAYWALL_CLOSE', 'SOMETHING_NEW', 'constructor']) {
    const { status, json } = await deliver(app, {
      event: { id: type, type, app_user_id: 'ann', novel: { deep: [1] } },
    })
    expect([status, Object.keys(json)]).toEqual([200, ['code', 'message']])
    codes[type] = json.code
  }
  expect(codes).toEqual({
    EXPIRATION: 'ok',
    TEST: 'ignored',
    PAYWALL_CLOSE: 'ignored',
    SOMETHING_NEW: 'ignored',
    constructor: 'ignored',
  })
})

test(`stores 50 concurrent deliveries of one event once ${fault(80)}`, async () => {
  await using app = await createTestApp()
  const body = { event: { id: 'E', type: 'EXPIRATION', app_user_id: 'ann', event_timestamp_ms: 1 } }
  const replies = await Promise.all(Array.from({ length: 50 }, () => deliver(app, body)))
  const codes = replies.map(({ json }) => json.code).toSorted()
  expect(codes).toEqual([...Array.from({ length: 49 }, () => 'duplicate'), 'ok'])
  expect(await events(app)).toMatchObject([{ eventId: 'E', duplicates: 49 }])
})

test(`keeps the first body delivered with an id, and marks the conflict ${fault(81)}`, async () => {
  await using app = await createTestApp()
  await deliver(app, { event: { id: 'E', type: 'RENEWAL', price: 1 } })
  const second = await deliver(app, { event: { id: 'E', type: 'RENEWAL', price: 2 } })
  expect([second.status, second.json.code]).toEqual([200, 'duplicate'])
  const event = await app.services.eventSearch.show('E')
  expect(event).toMatchObject({ conflicting: true, duplicates: 1 })
  expect(event?.body).toContain('"price":1')
})

test(`refuses a missing, wrong or malformed token with the same 401, and stores nothing ${fault(84)}`, async () => {
  await using app = await createTestApp()
  const headers = [
    {},
    { authorization: '' },
    { authorization: WEBHOOK_TOKEN },
    { authorization: `Basic ${WEBHOOK_TOKEN}` },
    { authorization: `Bearer ${WEBHOOK_TOKEN}x` },
    { authorization: `Bearer ${WEBHOOK_TOKEN.slice(0, -1)}` },
    { authorization: `Bearer ${'x'.repeat(10_000)}` },
  ]
  const bodies = new Set<string>()
  for (const header of headers) {
    const body = JSON.stringify({ event: { id: 'E', type: 'RENEWAL' } })
    const { status, json } = await app.ask('POST', PATH, { body, headers: header as never })
    expect(status).toBe(401)
    bodies.add(JSON.stringify({ ...json, requestId: '' }))
  }
  expect(bodies.size).toBe(1)
  expect(await events(app)).toEqual([])
})

test(`accepts two tokens while they are rotated ${fault(85)}`, async () => {
  await using app = await createTestApp({
    WEBHOOK_TOKEN: 'old-token-of-20-chars, new-token-of-20-chars',
  })
  for (const token of ['old-token-of-20-chars', 'new-token-of-20-chars']) {
    const json = { event: { id: token, type: 'TEST' } }
    expect((await app.ask('POST', PATH, { token, json })).status).toBe(200)
  }
  const both = 'old-token-of-20-chars, new-token-of-20-chars'
  expect((await app.ask('POST', PATH, { token: both, json: {} })).status).toBe(401)
})

test('refuses every delivery with 503 if no token is configured', async () => {
  await using app = await createTestApp({ WEBHOOK_TOKEN: undefined as never })
  for (const token of ['', 'undefined', WEBHOOK_TOKEN]) {
    const { status, json } = await app.ask('POST', PATH, {
      token,
      json: { event: { type: 'TEST' } },
    })
    expect([status, json.code]).toEqual([503, 'webhook_not_configured'])
  }
})

test('deleting an account removes personal data from the log and keeps the events', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  const event = {
    id: 'E',
    type: 'RENEWAL',
    app_user_id: user._id,
    aliases: [user._id],
    subscriber_attributes: { $email: { value: 'canary@example.com' } },
  }
  await deliver(app, { event })
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  const kept = JSON.stringify(await app.services.eventSearch.show('E'))
  expect(kept).toContain('deleted:')
  for (const personal of [user._id, 'canary@example.com']) expect(kept).not.toContain(personal)
})

test.each([
  ['invalid JSON', 'x'],
  ['truncated JSON', '{"event":{"type":"RENEWAL"'],
  ['broken UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
  ['an empty body', ''],
  ['null', 'null'],
  ['a list', '[]'],
  ['a body without an event', '{"api_version":"1.0"}'],
  ['a null event', '{"event":null}'],
  ['a list of events', '{"event":[{"type":"RENEWAL"}]}'],
  ['an event without a type', '{"event":{"id":"E"}}'],
  ['a number for a type', '{"event":{"id":"E","type":7}}'],
  ['an empty type', '{"event":{"id":"E","type":""}}'],
])('refuses %s with 400 and stores nothing', async (_what, body) => {
  await using app = await createTestApp()
  const { status, json } = await app.ask('POST', PATH, { token: WEBHOOK_TOKEN, body })
  expect([status, json.code]).toEqual([400, 'malformed_request'])
  expect(await events(app)).toEqual([])
})

test.each([
  ['no id', {}],
  ['an empty id', { id: '' }],
  ['a number for an id', { id: 7 }],
  ['an id of 200,000 characters', { id: 'x'.repeat(200_000) }],
])(`identifies an event with %s by its bytes ${fault(89)}`, async (_what, fields) => {
  await using app = await createTestApp()
  const body = { event: { type: 'EXPIRATION', app_user_id: 'ann', ...fields } }
  expect((await deliver(app, body)).json.code).toBe('ok')
  expect((await deliver(app, body)).json.code).toBe('duplicate')
  const [event] = await events(app)
  expect(event?.eventId).toMatch(/^sha256:[0-9a-f]{64}$/)
})

test.each<[unknown, number | null]>([
  ['1783000000000', 1_783_000_000_000],
  ['2026-07-02T13:46:40Z', 1_783_000_000_000],
  [1_783_000_000_000.5, 1_783_000_000_000],
  [-1, null],
  ['soon', null],
  ['', null],
  [2 ** 60, null],
  [null, null],
  [{}, null],
  [78_789_789_798_798, 78_789_789_798_798],
])(`reads the time %p ${fault(89)}`, async (time, read) => {
  await using app = await createTestApp()
  const event = { id: 'E', type: 'RENEWAL', event_timestamp_ms: time }
  expect((await deliver(app, { event })).status).toBe(200)
  const [kept] = await events(app)
  expect(kept?.eventAt?.getTime() ?? null).toBe(read)
})

test(`accepts a body of 256 KiB and refuses one more byte ${fault(40)}`, async () => {
  await using app = await createTestApp()
  const limit = 256 * 1024
  const frame = JSON.stringify({ event: { id: 'E', type: 'RENEWAL', fill: '' } })
  const filled = (size: number) => frame.replace('""', `"${'x'.repeat(size - frame.length)}"`)
  const exact = await app.ask('POST', PATH, { token: WEBHOOK_TOKEN, body: filled(limit) })
  expect(exact.status).toBe(200)
  const over = await app.ask('POST', PATH, { token: WEBHOOK_TOKEN, body: filled(limit + 1) })
  expect([over.status, over.json.code]).toEqual([413, 'payload_too_large'])
})

test(`refuses a body of 10 MB by its length, without reading it ${fault(88)}`, async () => {
  await using app = await createTestApp()
  let pulled = 0
  const body = new ReadableStream({
    pull(controller) {
      pulled++
      controller.enqueue(Buffer.alloc(65_536, 120))
    },
  })
  const headers = { 'content-length': String(10_000_000) }
  const reply = await app.ask('POST', PATH, { token: WEBHOOK_TOKEN, body, headers })
  expect(reply.status).toBe(413)
  expect(pulled).toBeLessThan(3)
})

test(`never returns 5xx, or 200 without a row, to a random body ${fault(89)}`, async () => {
  await using app = await createTestApp()
  const fields = [
    'id type event_timestamp_ms app_user_id aliases original_app_user_id transferred_from transferred_to',
    'environment store product_id entitlement_ids purchased_at_ms expiration_at_ms price cancel_reason',
    'original_transaction_id transaction_id redeemed_from redeemed_by redemption_outcome',
  ].flatMap((names) => names.split(' '))
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.integer(),
    fc.double(),
    fc.constant(2 ** 60),
  )
  const types = fc.constantFrom(
    'INITIAL_PURCHASE',
    'EXPIRATION',
    'TRANSFER',
    'SUBSCRIBER_ALIAS',
    'PURCHASE_REDEEMED',
  )
  const event = fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 12 })
  const body = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.tuple(event, types).map(([known, type]) => ({ event: { ...known, type } })),
    },
    { weight: 1, arbitrary: fc.record({ event }) },
    { weight: 1, arbitrary: fc.jsonValue() },
  )
  await fc.assert(
    fc.asyncProperty(body, async (json) => {
      const count = () => app.services.db.read.$count(app.services.db.tables.billingEvents)
      const before = await count()
      const { status, json: answer } = await deliver(app, json)
      expect([200, 400]).toContain(status)
      const isNew = status === 200 && answer.code !== 'duplicate'
      expect((await count()) - before).toBe(isNew ? 1 : 0)
    }),
    { numRuns: 1_000 },
  )
  const { events } = await app.services.eventSearch.find({ outcome: 'failed' })
  expect(events.filter(({ error }) => !error?.startsWith('The field'))).toEqual([])
}, 60_000)

async function deliverFolder(app: TestApp, folder: string) {
  const names = (await readdir(folder)).filter((name) => /^[^_].*\.json$/.test(name))
  expect(names.length).toBeGreaterThan(0)
  for (const name of names) {
    const delivery = await Bun.file(join(folder, name)).json()
    delete delivery.event.event_id
    delivery.event.id = name
    await deliverTwice(app, name, delivery)
  }
}

async function deliverTwice(app: TestApp, id: string, delivery: { event: { type: string } }) {
  const body = JSON.stringify(delivery, null, 1)
  const first = await app.ask('POST', PATH, { token: WEBHOOK_TOKEN, body })
  expect([id, first.status]).toEqual([id, 200])
  expect(['ok', 'ignored']).toContain(first.json.code)
  const again = await app.ask('POST', PATH, { token: WEBHOOK_TOKEN, body })
  expect([again.status, again.json.code]).toEqual([200, 'duplicate'])
  const { type } = delivery.event
  expect(await app.services.eventSearch.show(id)).toMatchObject({
    body,
    type,
    duplicates: 1,
    conflicting: false,
  })
}

function deliver(app: TestApp, json: unknown) {
  return app.ask('POST', PATH, { token: WEBHOOK_TOKEN, json })
}

async function events(app: TestApp) {
  return (await app.services.eventSearch.find({})).events
}

test.each([
  ['type', { id: 'forged', type: 'HOMEPORT_ACCESS_GRANTED' }],
  ['id', { id: 'revoke:01a20a23-28b4-763c-89cb-60ef49e1a2de', type: 'TEST' }],
  ['purchase', { id: 'plain', type: 'EXPIRATION', original_transaction_id: 'grant:1' }],
  ['transaction', { id: 'plain', type: 'EXPIRATION', transaction_id: 'grant:1' }],
])(
  'refuses a delivery with the %s of an event that only Homeport records',
  async (_what, event) => {
    await using app = await createTestApp()
    const json = { event: { ...event, app_user_id: 'ann', event_timestamp_ms: 1 } }
    const reply = await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
    expect([reply.status, reply.json.message]).toEqual([
      400,
      'This event type or id is reserved for Homeport.',
    ])
  },
)
