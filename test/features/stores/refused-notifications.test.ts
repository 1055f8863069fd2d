import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import type { AppStore } from '../../support/app-store/app-store.ts'
import { createAppleSigner } from '../../support/app-store/apple-signer.ts'
import { createWorld, deliver, PATH } from '../../support/app-store/world.ts'

test.each<[number, string, (store: AppStore) => unknown]>([
  [400, 'malformed_request', () => ({})],
  [400, 'malformed_request', () => ({ unified_receipt: {}, notification_type: 'DID_RENEW' })],
  [401, 'unauthenticated', () => ({ signedPayload: 'x.y.z' })],
  [401, 'unauthenticated', () => ({ signedPayload: 7 })],
  [401, 'unauthenticated', (store) => withData(store, { environment: 'Xcode' })],
  [401, 'unauthenticated', (store) => withData(store, { environment: 'LocalTesting' })],
  [403, 'forbidden', (store) => withData(store, { bundleId: 'com.example.other' })],
  [403, 'forbidden', (store) => withData(store, { appAppleId: 1 })],
  [401, 'unauthenticated', (store) => withTransaction(store, { bundleId: 'com.example.other' })],
  [401, 'unauthenticated', (store) => withTransaction(store, { environment: 'Sandbox' })],
  [401, 'unauthenticated', (store) => withTransaction(store, { originalTransactionId: '1' })],
])(
  'returns %i %s for an invalid notification and records nothing (%#)',
  async (status, code, make) => {
    await using world = await createWorld()
    const { app, store } = world
    const reply = await app.ask('POST', PATH, { json: await make(store) })
    expect([reply.status, reply.json.code]).toEqual([status, code])
    expect((await app.services.eventSearch.countStored()).events).toBe(0)
  },
)

test('refuses a notification whose transaction is signed by another chain', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const { claims } = store.buy({ userId: world.userId }).notification
  const foreign = await createAppleSigner()
  const { data } = claims as unknown as { data: object }
  const forged = { ...data, signedTransactionInfo: foreign.sign({ signedDate: claims.signedDate }) }
  const signedPayload = store.signer.sign({ ...claims, data: forged })
  const { status, json } = await app.ask('POST', PATH, { json: { signedPayload } })
  expect([status, json.code]).toEqual([401, 'unauthenticated'])
})

test('returns webhook_not_configured while APP_STORE_APPS is not set', async () => {
  await using app = await createTestApp()
  const reply = await app.ask('POST', PATH, { json: { signedPayload: 'x' } })
  expect([reply.status, reply.json.code, reply.headers.get('retry-after')]).toEqual([
    503,
    'webhook_not_configured',
    '300',
  ])
})

/** A notification whose data has these fields. */
function withData(store: AppStore, subject: object) {
  const { claims } = store.buy().notification
  const { data } = claims as unknown as { data: object }
  return { signedPayload: store.signer.sign({ ...claims, data: { ...data, ...subject } }) }
}

/** A notification whose transaction has these fields, which contradict it. */
function withTransaction(store: AppStore, fields: object) {
  const bought = store.buy()
  Object.assign(bought.transaction, fields)
  return bought.signNotification('DID_RENEW').body
}

test('an address whose notifications are refused 300 times has to wait', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const refuse = () => app.ask('POST', PATH, { json: { signedPayload: 'a.b.c' } })
  const statuses = new Set<number>()
  for (let time = 0; time < 300; time++) statuses.add((await refuse()).status)
  expect([...statuses]).toEqual([401])
  expect((await refuse()).status).toBe(429)
  app.clock.advance(10 * 60_000)
  expect(await deliver(app, store.buy().notification)).toBe('ok')
})
