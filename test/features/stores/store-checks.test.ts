import { expect, test } from 'bun:test'
import { createClock } from '../../support/app.ts'
import { createAppStore } from '../../support/app-store/app-store.ts'
import {
  createWorld,
  createWorldWithApi,
  deliver,
  listSubscriptions,
  submit,
} from '../../support/app-store/world.ts'
import { runCommand } from '../../support/commands.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

test('a purchase whose renewal was lost is checked ten minutes after its end', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api, listSubscriptions, checkDue } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  app.clock.advance(30 * DAY)
  bought.renew()
  await checkDue()
  expect(api.requests).toEqual([])
  app.clock.advance(10 * MINUTE)
  await checkDue()
  expect(api.requests).toEqual([`GET /inApps/v1/subscriptions/${bought.originalTransactionId}`])
  expect(await listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
  await checkDue()
  expect(api.requests).toHaveLength(1)
})

test.each([true, false])(
  'after an upgrade to a shorter period, its renewal is checked (in order: %p)',
  async (isInOrder) => {
    await using world = await createWorldWithApi()
    const { app, store, listSubscriptions, checkDue } = world
    const bought = store.buy({ userId: world.userId, trialDays: 90 })
    app.clock.advance(DAY)
    const notifications = [bought.notification, bought.changeProduct('pro_plus', true)]
    for (const one of isInOrder ? notifications : notifications.toReversed())
      await deliver(app, one)
    app.clock.advance(30 * DAY + 4 * HOUR)
    bought.renew()
    await checkDue()
    expect(await listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
  },
)

test('a check without news is repeated after 10 minutes, 1 hour, 6 hours, then daily for 61 days', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api, checkDue } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  const times: number[] = []
  app.clock.advance(30 * DAY)
  const end = app.clock.now.getTime()
  for (let step = 0; step < 62 * 24 * 6; step++) {
    app.clock.advance(10 * MINUTE)
    const before = api.requests.length
    if (step < 200 || step % 6 === 0) await checkDue()
    if (api.requests.length > before) times.push((app.clock.now.getTime() - end) / MINUTE)
  }
  expect(times.slice(0, 5)).toEqual([10, 20, 80, 440, 1880])
  expect(times).toHaveLength(64)
  expect(await app.services.eventSearch.countStored()).toMatchObject({ events: 2 })
}, 60_000)

test('repeats a check that Apple rejects no more often than one without news', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api, checkDue } = world
  app.expectErrors()
  await deliver(app, store.buy({ userId: world.userId }).notification)
  app.clock.advance(30 * DAY)
  for (let minutes = 0; minutes < 5 * 60; minutes += 10) {
    app.clock.advance(10 * MINUTE)
    api.faults.splice(0, api.faults.length, { status: 404, errorCode: 4040001 })
    await checkDue()
  }
  expect(api.requests).toHaveLength(3)
})

test('a subscription that ends is not checked again', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api, listSubscriptions, checkDue } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  app.clock.advance(30 * DAY + HOUR)
  bought.expire()
  await checkDue()
  expect(await listSubscriptions()).toMatchObject([{ status: 'expired', willRenew: false }])
  app.clock.advance(10 * DAY)
  await checkDue()
  expect(api.requests).toHaveLength(1)
})

test('a rate limit stops the checks until the time that Apple names', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api, listSubscriptions, checkDue } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  app.clock.advance(30 * DAY + HOUR)
  bought.renew()
  const retryAt = app.clock.now.getTime() + 30 * MINUTE
  api.faults.push({ status: 429, errorCode: 4290000, headers: { 'retry-after': `${retryAt}` } })
  await checkDue()
  app.clock.advance(29 * MINUTE)
  await checkDue()
  expect(api.requests).toHaveLength(1)
  app.clock.advance(MINUTE)
  await checkDue()
  expect(api.requests).toHaveLength(2)
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test.each([
  ['a refused key', { status: 401 }],
  ['a temporary error', { status: 500, errorCode: 5000001 }],
])('after %s, nothing is lost', async (_name, fault) => {
  await using world = await createWorldWithApi()
  const { app, store, api, listSubscriptions, checkDue } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  app.clock.advance(30 * DAY + HOUR)
  bought.renew()
  api.faults.push(fault)
  await checkDue()
  app.clock.advance(10 * MINUTE)
  await checkDue()
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('tells Apple who owns a purchase once the user has claimed it', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api, checkDue } = world
  const bought = store.buy()
  const purchases = [{ store: 'app_store', signedTransaction: bought.signedTransaction() }]
  await app.ask('POST', '/api/user/purchases/v1', { token: world.token, json: { purchases } })
  await checkDue()
  expect(api.accountTokens).toEqual({ [bought.originalTransactionId]: world.userId })
  const asked = api.requests.length
  await checkDue()
  expect(api.requests).toHaveLength(asked)
})

test('a submitted transaction older than a refund is checked with Apple', async () => {
  await using world = await createWorldWithApi()
  const { app, store } = world
  const bought = store.buy()
  const signedTransaction = bought.signedTransaction()
  app.clock.advance(MINUTE)
  bought.refund()
  const purchases = [{ store: 'app_store', signedTransaction }]
  const reply = await app.ask('POST', '/api/user/purchases/v1', {
    token: world.token,
    json: { purchases },
  })
  expect(reply.json.response.subscription.subscriptions).toMatchObject([{ status: 'refunded' }])
})

test('a late renewal does not interrupt access for STORE_LENIENCE hours', async () => {
  await using world = await createWorldWithApi({ STORE_LENIENCE: '2' })
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  app.clock.advance(30 * DAY + 2 * HOUR - MINUTE)
  expect(await listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
  app.clock.advance(MINUTE)
  expect(await listSubscriptions()).toMatchObject([{ status: 'expired', active: false }])
})

test('the sandbox purchases of testers give access in production', async () => {
  const clock = createClock()
  const store = await createAppStore(clock)
  await using plain = await createWorld(store)
  const tester = plain.userId
  await using world = await createWorld(store, undefined, { SANDBOX_TESTERS: tester })
  const bought = store.buy({ userId: tester, environment: 'Sandbox' })
  for (const { app } of [plain, world]) await deliver(app, bought.notification)
  const inProduction = await world.app.services.subscription.readForExport(tester, 'production')
  expect(inProduction.subscriptions).toMatchObject([{ isSandbox: true }])
  expect(await plain.listSubscriptions()).toEqual([])
})

test('a purchase that Apple reports with a wrong signature counts as the app submitted it', async () => {
  await using world = await createWorldWithApi()
  const { app, store, token } = world
  const bought = store.buy()
  const purchases = [{ store: 'app_store', signedTransaction: bought.signedTransaction() }]
  for (const purchase of store.purchases) purchase.signedRenewal = () => 'a.b.c'
  const reply = await app.ask('POST', '/api/user/purchases/v1', { token, json: { purchases } })
  expect(reply.json.response.results).toMatchObject([{ outcome: 'bound' }])
})

test('an app that is not released yet does not keep others from being checked', async () => {
  await using world = await createWorldWithApi({
    APP_STORE_APPS: 'com.example.new:999,com.example.app:1234567890',
  })
  const { app, store, checkDue } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  store.buy()
  app.clock.advance(30 * DAY + HOUR)
  bought.renew()
  await checkDue()
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  const { history, health } = app.services.stores
  const signal = AbortSignal.timeout(5_000)
  expect(await history?.catchUp('PRODUCTION', { signal })).toMatchObject({ read: 3, added: 2 })
  expect(await health.isKeyRefused()).toBe(false)
})

test('tells Apple who submitted a purchase, even if its notification comes later', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api, token, userId, checkDue } = world
  const bought = store.buy()
  await submit(app, token, [bought.signedTransaction()])
  app.clock.advance(2_000)
  await deliver(app, bought.notification)
  await checkDue()
  expect(api.accountTokens).toEqual({ [bought.originalTransactionId]: userId })
})

test('queries a one-time purchase, not the subscriptions of its customer', async () => {
  await using world = await createWorldWithApi()
  const { app, store, token } = world
  await deliver(app, store.buy({ userId: world.userId }).notification)
  const lifetime = store.buyOnce('Non-Consumable', { product: 'lifetime' })
  const signed = lifetime.signedTransaction()
  app.clock.advance(MINUTE)
  lifetime.refund()
  await submit(app, token, [signed])
  const refunded = (await world.listSubscriptions()).find(({ status }) => status === 'refunded')
  expect(refunded).toMatchObject({ productId: 'lifetime', active: false })
})

test('a one-time purchase unknown to Homeport is found on its own', async () => {
  await using world = await createWorldWithApi()
  const { app, store, userId } = world
  const { user: other } = await app.register()
  await deliver(app, store.buy({ userId: other._id }).notification)
  const { transactionId } = store.buyOnce('Non-Consumable', { product: 'lifetime' })
  await expect(runCommand(app, 'purchases show', [transactionId])).rejects.toThrow('no purchase')
  await runCommand(app, 'purchases ask', [transactionId])
  await runCommand(app, 'purchases give', [transactionId, userId])
  const [own, others] = await Promise.all(
    [userId, other._id].map((id) => listSubscriptions(app, id)),
  )
  expect(own?.map(({ productId }) => productId)).toEqual(['lifetime'])
  expect(others).toHaveLength(1)
})
