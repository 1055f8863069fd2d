import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { serveAppStoreApi } from '../../support/app-store/api.ts'
import { createAppStore } from '../../support/app-store/app-store.ts'
import { createWorld, deliver } from '../../support/app-store/world.ts'
import { deliver as deliverEvent, purchase } from '../../support/billing.ts'
import { signInOperator } from '../../support/operator.ts'

test('refreshes a purchase by its order number, and a sandbox purchase in the sandbox only', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api, olga } = world
  const { originalTransactionId: id } = store.buy()
  const bySandbox = store.buy({ environment: 'Sandbox' })
  expect((await olga.read(`purchases?id=M${id}`)).purchases).toEqual([])
  const asked = await olga.ask('POST', `purchases/M${id}/ask`, { json: {} })
  expect(asked.json.response).toMatchObject([{ transactionId: id, status: 'active', owner: null }])
  await deliver(app, bySandbox.notification)
  api.requests.length = 0
  const path = `purchases/${bySandbox.originalTransactionId}/ask`
  const sandbox = await olga.ask('POST', path, { json: {} })
  expect(sandbox.json.response).toMatchObject([{ environment: 'sandbox' }])
  expect(api.requests).toHaveLength(1)
})

test('finds an order of the second app, even if Apple responds for the first one too', async () => {
  const apps = 'com.example.other:1,com.example.app:1234567890'
  await using world = await createWorldWithApi({ APP_STORE_APPS: apps })
  const { store, api, olga } = world
  const { originalTransactionId: id } = store.buy()
  // The order does not belong to the first app.
  api.faults.push({ status: 200, json: { status: 1 } })
  const asked = await olga.ask('POST', `purchases/M${id}/ask`, { json: {} })
  expect(asked.json.response).toMatchObject([{ transactionId: id, status: 'active' }])
})

test('explains why the App Store cannot be queried', async () => {
  await using world = await createWorldWithApi()
  const { store, api, olga } = world
  const { originalTransactionId: id } = store.buy()
  api.faults.push({ status: 401 }, { status: 401 })
  const refused = await olga.ask('POST', `purchases/${id}/ask`, { json: {} })
  expect([refused.status, refused.json.message]).toEqual([503, expect.stringMatching(/key/)])
  // Apple refuses production until the app is released.
  api.faults.push({ status: 401 })
  const { originalTransactionId: test } = store.buy({ environment: 'Sandbox' })
  const asked = await olga.ask('POST', `purchases/${test}/ask`, { json: {} })
  expect(asked.json.response).toMatchObject([{ transactionId: test, environment: 'sandbox' }])
})

test('links a purchase to the user with an e-mail address', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  const olga = await signInOperator(app)
  const bought = store.buy({ userId })
  await deliver(app, bought.notification)
  const other = await app.register('other@example.com')
  const path = `purchases/${bought.originalTransactionId}/give`
  const unknown = await olga.ask('POST', path, {
    json: { user: 'nobody@example.com', reason: 'bought' },
  })
  expect([unknown.status, unknown.json.message]).toEqual([
    404,
    'There is no user nobody@example.com.',
  ])
  expect(
    (await olga.ask('POST', path, { json: { user: other.user.email, reason: 'bought' } })).json
      .response,
  ).toEqual([expect.objectContaining({ userId: other.user._id, isClaimed: true })])
  const { entries, names } = await olga.read('audit?action=purchases.link')
  expect([entries[0].before, entries[0].after]).toEqual([{ userId }, { userId: other.user._id }])
  expect(Object.keys(names).toSorted()).toEqual([userId, other.user._id].toSorted())
})

test('links the purchase of one environment if both have its transaction', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  const olga = await signInOperator(app)
  const bought = store.buy({ userId })
  await deliver(app, bought.notification)
  const { originalTransactionId: id } = bought
  const own = { id: 'T1', environment: 'SANDBOX', original_transaction_id: id }
  await deliverEvent(app, { ...purchase(userId), ...own })
  const other = await app.register('other@example.com')
  const request = { user: other.user._id, environment: 'sandbox', reason: 'a tester' }
  await olga.ask('POST', `purchases/${id}/give`, { json: request })
  const { purchases } = await olga.read(`purchases?id=${id}`)
  const owners = purchases.map((one: Record<string, unknown>) => [
    one['environment'],
    one['userId'],
  ])
  expect(owners.toSorted()).toEqual([
    ['production', userId],
    ['sandbox', other.user._id],
  ])
})

test('a purchase stays claimed when its guest signs in to an account', async () => {
  await using world = await createWorld()
  const { app, store, email } = world
  const olga = await signInOperator(app)
  const bought = store.buy()
  const guest = (await app.ask('POST', '/api/auth/guest/v1', {})).json.response
  await submit(app, guest.accessToken, bought.signedTransaction())
  const login = { email, password: PASSWORD }
  await app.ask('POST', '/api/auth/login/v1', { json: login, token: guest.accessToken })
  const { purchases } = await olga.read(`purchases?id=${bought.originalTransactionId}`)
  const [purchase] = purchases
  expect(purchase).toMatchObject({ userId: world.userId, isClaimed: true, source: 'store' })
  const { lines } = await olga.read(`people/${world.userId}/timeline`)
  expect(lines).toMatchObject([{ isClaimed: true, source: 'store' }])
})

/** A world whose App Store answers requests, with a signed-in operator. */
async function createWorldWithApi(settings: Record<string, string> = {}) {
  const stack = new AsyncDisposableStack()
  const clock = { now: new Date('2026-10-01T12:00:00Z'), advance: () => {} }
  const store = await createAppStore(clock)
  const api = stack.use(serveAppStoreApi(store, () => clock.now))
  const app = stack.use(
    await createTestApp({ ...store.environment, ...api.environment, ...settings }),
  )
  app.clock.now = clock.now
  const olga = await signInOperator(app)
  return { app, store, api, olga, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

async function submit(app: TestApp, token: string, signedTransaction: string) {
  const json = { purchases: [{ store: 'app_store', signedTransaction }] }
  const reply = await app.ask('POST', '/api/user/purchases/v1', { json, token })
  expect(reply.json.response.results).toMatchObject([{ outcome: 'bound' }])
}
