import { expect, test } from 'bun:test'
import { PASSWORD, type TestApp, WEBHOOK_TOKEN } from '../../../support/app.ts'
import { createAppleSigner } from '../../../support/app-store/apple-signer.ts'
import { createWorld, deliver } from '../../../support/app-store/world.ts'
import { startSmtp } from '../../../support/smtp.ts'

const DAY = 24 * 60 * 60 * 1000
const PATH = '/api/user/purchases/v1'

test('a submitted purchase gives access at once, and submitting it again changes nothing', async () => {
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

test('a purchase of another user moves only if the user asks for it, and the former owner is told', async () => {
  await using smtp = await startSmtp()
  await using world = await createWorld(undefined, undefined, { SMTP_URL: smtp.url })
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  const other = await app.register('bob@example.com')
  const signed = bought.signedTransaction()
  const refused = await submit(app, other.accessToken, [signed])
  const canTakeOverAt = new Date(app.clock.now.getTime() + DAY).toISOString()
  expect(refused.results).toMatchObject([{ code: 'purchase_of_another', canTakeOverAt }])
  expect(refused.subscription.subscriptions).toEqual([])
  const tooSoon = await submit(app, other.accessToken, [signed], true)
  expect(tooSoon.results).toMatchObject([{ code: 'purchase_of_another', canTakeOverAt }])
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
  app.clock.advance(DAY)
  const moved = await submit(app, await signIn(app, 'bob@example.com'), [signed], true)
  expect(moved.results).toMatchObject([{ outcome: 'bound' }])
  expect(moved.subscription.subscriptions).toMatchObject([{ status: 'active' }])
  expect(await listSubscriptions()).toEqual([])
  await smtp.next(world.email) // the confirmation of the address
  const notice = await smtp.next(world.email)
  expect([notice.subject, notice.text]).toEqual([
    'homeport: A purchase has moved to another account',
    expect.stringContaining('pro_month'),
  ])
})

test('a purchase moves at most once in 30 days, and renewals leave it with its new owner', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  const other = await app.register()
  app.clock.advance(DAY)
  await submit(app, await signIn(app, other.user.email), [bought.signedTransaction()], true)
  app.clock.advance(29 * DAY)
  await deliver(app, bought.renew())
  expect(await listSubscriptions()).toEqual([])
  const signed = bought.signedTransaction()
  const early = await submit(app, await signIn(app, world.email), [signed], true)
  expect(early.results).toMatchObject([{ outcome: 'refused' }])
  app.clock.advance(DAY)
  const late = await submit(app, await signIn(app, world.email), [signed], true)
  expect(late.results).toMatchObject([{ outcome: 'bound' }])
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('the billing provider takes a submitted purchase back only for a new owner', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  const { originalTransactionId, transaction, ...bought } = store.buy()
  await deliverEvent('INITIAL_PURCHASE', '$RCAnonymousID:1')
  await submit(app, world.token, [bought.signedTransaction()])
  app.clock.advance(30 * DAY)
  bought.renew()
  await deliverEvent('RENEWAL', '$RCAnonymousID:1')
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
  app.clock.advance(DAY)
  await deliverEvent('UNCANCELLATION', 'somebody-else')
  expect(await listSubscriptions()).toEqual([])

  async function deliverEvent(type: string, appUserId: string) {
    const event = {
      id: crypto.randomUUID(),
      type,
      event_timestamp_ms: app.clock.now.getTime(),
      app_user_id: appUserId,
      environment: 'PRODUCTION',
      store: 'APP_STORE',
      product_id: transaction['productId'],
      purchased_at_ms: transaction['purchaseDate'],
      expiration_at_ms: transaction['expiresDate'],
      transaction_id: transaction['transactionId'],
      original_transaction_id: originalTransactionId,
    }
    await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json: { event } })
  }
})

test('a user can take over the purchase of a guest at once', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const guest = await app.ask('POST', '/api/auth/guest/v1', {})
  const signed = store.buy().signedTransaction()
  await submit(app, guest.json.response.accessToken, [signed])
  const asked = await submit(app, world.token, [signed])
  expect(asked.results).toMatchObject([{ code: 'purchase_of_another' }])
  const moved = await submit(app, world.token, [signed], true)
  expect(moved.results).toMatchObject([{ outcome: 'bound' }])
})

test('PURCHASE_TRANSFER decides whether purchases move', async () => {
  const outcomes: unknown[] = []
  for (const [policy, takeOver] of [
    ['never', true],
    ['always', false],
  ] as const) {
    await using world = await createWorld(undefined, undefined, { PURCHASE_TRANSFER: policy })
    const { app, store } = world
    const bought = store.buy({ userId: world.userId })
    await deliver(app, bought.notification)
    const other = await app.register()
    app.clock.advance(40 * DAY)
    const signed = bought.signedTransaction()
    const token = await signIn(app, other.user.email)
    const { results } = await submit(app, token, [signed], takeOver)
    outcomes.push([results[0]?.outcome, results[0]?.canTakeOverAt])
  }
  expect(outcomes).toEqual([
    ['refused', null],
    ['bound', undefined],
  ])
})

test('the purchase of a deleted user is free, and so is one whose token names nobody', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const bought = store.buy({ userId: world.userId })
  const unknown = store.buy({ userId: crypto.randomUUID() })
  for (const one of [bought, unknown]) await deliver(app, one.notification)
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token: world.token })).status).toBe(200)
  const other = await app.register()
  const all = [bought, unknown].map((one) => one.signedTransaction())
  const { results, subscription } = await submit(app, other.accessToken, all)
  expect(results).toMatchObject([{ outcome: 'bound' }, { outcome: 'bound' }])
  expect(subscription.subscriptions).toHaveLength(2)
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
  const inSandbox = await app.ask('POST', PATH, {
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
    statuses.add((await world.app.ask('POST', PATH, ask())).status)
  }
  expect([...statuses]).toEqual([200])
  expect((await world.app.ask('POST', PATH, ask())).status).toBe(429)

  function ask() {
    return { token: world.token, json: { purchases } }
  }
})

type Reply = {
  results: { outcome: string; code?: string; canTakeOverAt?: string | null }[]
  subscription: { entitlements: object[]; subscriptions: object[] }
}

/** Signs in again, because access tokens do not last a day. */
async function signIn(app: TestApp, email: string): Promise<string> {
  const json = { email, password: PASSWORD }
  return (await app.ask('POST', '/api/auth/login/v1', { json })).json.response.accessToken
}

async function submit(app: TestApp, token: string, signed: string[], takeOver?: boolean) {
  const purchases = signed.map((signedTransaction) => ({ store: 'app_store', signedTransaction }))
  const json = { purchases, ...(takeOver === undefined ? {} : { takeOver }) }
  const reply = await app.ask('POST', PATH, { token, json })
  expect([reply.status, reply.json]).toEqual([200, expect.any(Object)])
  return reply.json.response as Reply
}

async function countEvents(app: TestApp): Promise<number> {
  return (await app.services.billing.count()).events
}
