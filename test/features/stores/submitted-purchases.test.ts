import { expect, test } from 'bun:test'
import type { TestApp } from '../../support/app.ts'
import { createAppleSigner } from '../../support/app-store/apple-signer.ts'
import {
  createWorld,
  createWorldWithApi,
  deliver,
  PURCHASES_PATH,
  signIn,
  submit,
} from '../../support/app-store/world.ts'

const DAY = 24 * 60 * 60 * 1000

test('a submitted purchase gives access immediately, and submitting it again changes nothing', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const bought = store.buy()
  const signed = bought.signedTransaction()
  expect(await submit(app, world.token, [signed])).toMatchObject({
    results: [
      {
        outcome: 'bound',
        environment: 'production',
        productId: 'pro_month',
        expiresAt: new Date(Number(bought.transaction['expiresDate'])).toISOString(),
      },
    ],
    subscription: { subscriptions: [{ status: 'active', productId: 'pro_month' }] },
  })
  const events = await countEvents(app)
  for (const again of [signed, bought.signedTransaction()]) {
    const { results } = await submit(app, world.token, [again])
    expect(results).toMatchObject([{ outcome: 'known' }])
  }
  expect(await countEvents(app)).toBe(events)
})

test('results are in order, and a bad purchase does not affect the others', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const stranger = await createAppleSigner()
  const { transaction } = store.buy()
  const forged = stranger.sign({ ...transaction, signedDate: app.clock.now.getTime() })
  const otherApp = store.signer.sign({
    ...transaction,
    bundleId: 'com.example.other',
    signedDate: app.clock.now.getTime(),
  })
  const xcode = store.signer.sign({
    ...transaction,
    environment: 'Xcode',
    signedDate: app.clock.now.getTime(),
  })
  const good = store.buy().signedTransaction()
  const { results } = await submit(app, world.token, [forged, otherApp, 'text', xcode, good])
  expect(results.map(({ outcome, code }) => code ?? outcome)).toEqual([
    'purchase_invalid',
    'purchase_of_other_app',
    'purchase_invalid',
    'purchase_invalid',
    'bound',
  ])
})

test('a server without the App Store refuses its purchases', async () => {
  await using world = await createWorld()
  const signed = world.store.buy().signedTransaction()
  await using other = await createWorld(world.store, undefined, { APP_STORE_APPS: 'com.other:1' })
  const { results } = await submit(other.app, other.token, [signed])
  expect(results).toMatchObject([{ outcome: 'refused', code: 'purchase_of_other_app' }])
})

test('the notification may come before or after the app submits the purchase', async () => {
  for (const isFirst of [true, false]) {
    await using world = await createWorld()
    const { app, store, listSubscriptions } = world
    const bought = store.buy()
    if (isFirst) await deliver(app, bought.notification)
    await submit(app, world.token, [bought.signedTransaction()])
    if (!isFirst) await deliver(app, bought.notification)
    app.clock.advance(30 * DAY)
    await deliver(app, bought.renew())
    expect(await listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
  }
})

test('a guest keeps a purchase after signing up', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const guest = await app.ask('POST', '/api/auth/guest/v1', {})
  const { accessToken: token } = guest.json.response
  const signed = store.buy().signedTransaction()
  expect((await submit(app, token, [signed])).results).toMatchObject([{ outcome: 'bound' }])
  const user = await app.register('guest@example.com', { authorization: `Bearer ${token}` })
  const again = await submit(app, user.accessToken, [signed])
  expect(again.results).toMatchObject([{ outcome: 'known' }])
  expect(again.subscription.subscriptions).toMatchObject([{ status: 'active' }])
})

test('a transaction older than a refund gives no access', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  const signed = bought.signedTransaction()
  await deliver(app, bought.notification)
  app.clock.advance(DAY)
  await deliver(app, bought.refund())
  await submit(app, await signIn(app, world.email), [signed])
  expect(await listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
})

test('does not query Apple about a refund that a submitted transaction names', async () => {
  await using world = await createWorldWithApi()
  const { app, api } = world
  const bought = await buyAndRefund(world)
  const token = await signIn(app, world.email)
  for (let count = 0; count < 3; count++) await submit(app, token, [bought.signedTransaction()])
  expect(api.requests).toEqual([])
})

test('a transaction that is signed after a refund, without naming it, ends the refund', async () => {
  await using world = await createWorld()
  const { app, listSubscriptions } = world
  const bought = await buyAndRefund(world)
  app.clock.advance(DAY)
  bought.reverseRefund()
  await submit(app, await signIn(app, world.email), [bought.signedTransaction()])
  expect(await listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
})

test('a consumable has one owner and gives no access', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const { signedTransaction } = store.buyOnce('Consumable')
  const bought = await submit(app, world.token, [signedTransaction()])
  expect(bought.results).toMatchObject([{ outcome: 'bound', productId: 'coins' }])
  expect(bought.subscription.entitlements).toEqual([])
  expect(bought.subscription.subscriptions).toMatchObject([{ status: 'consumed' }])
  const again = await submit(app, world.token, [signedTransaction()])
  expect(again.results).toMatchObject([{ outcome: 'known' }])
  const other = await app.register()
  const refused = await submit(app, other.accessToken, [signedTransaction()])
  expect(refused.results).toMatchObject([{ code: 'purchase_of_another' }])
})

test('sandbox purchases count in the sandbox only, and not at all if they are ignored', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const signed = store.buy({ environment: 'Sandbox' }).signedTransaction()
  const bought = await submit(app, world.token, [signed])
  expect(bought.results).toMatchObject([{ outcome: 'bound', environment: 'sandbox' }])
  expect(bought.subscription.subscriptions).toEqual([])
  const purchases = [{ store: 'app_store', signedTransaction: signed }]
  const inSandbox = await app.ask('POST', PURCHASES_PATH, {
    token: world.token,
    json: { purchases, environment: 'sandbox' },
  })
  expect(inSandbox.json.response.subscription.subscriptions).toMatchObject([{ status: 'active' }])
  await using strict = await createWorld(store, undefined, { BILLING_SANDBOX: 'ignore' })
  const { results } = await submit(strict.app, strict.token, [signed])
  expect(results).toMatchObject([{ outcome: 'refused', code: 'sandbox_ignored' }])
})

test('a user can submit purchases 60 times an hour', async () => {
  await using world = await createWorld()
  const purchases = [{ store: 'app_store', signedTransaction: 'text' }]
  const statuses = new Set<number>()
  for (let time = 0; time < 60; time++) {
    statuses.add((await world.app.ask('POST', PURCHASES_PATH, ask())).status)
  }
  expect([...statuses]).toEqual([200])
  expect((await world.app.ask('POST', PURCHASES_PATH, ask())).status).toBe(429)

  function ask() {
    return { token: world.token, json: { purchases } }
  }
})

/** A subscription of the world's user, refunded a day after it was bought. */
async function buyAndRefund({ app, store, userId }: Awaited<ReturnType<typeof createWorld>>) {
  const bought = store.buy({ userId })
  await deliver(app, bought.notification)
  app.clock.advance(DAY)
  await deliver(app, bought.refund())
  return bought
}

async function countEvents(app: TestApp): Promise<number> {
  return (await app.services.eventSearch.countStored()).events
}
