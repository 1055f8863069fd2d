import { expect, test } from 'bun:test'
import { createTestApp, WEBHOOK_TOKEN } from '../../support/app.ts'
import { providerEvent } from '../../support/app-store/life.ts'
import { createWorld, createWorldWithApi, deliver } from '../../support/app-store/world.ts'
import { DAY } from '../../support/billing.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'

const URL = 'https://api.example.com'

test('stores check says what to do about each missing setting', async () => {
  await using app = await createTestApp({})
  const { printed } = await runCommand(app, 'stores check')
  expect(printed.split('\n').map((line) => line.split('\t')[0])).toEqual([
    'FAILED',
    'FAILED',
    'FAILED',
    'FAILED',
  ])
  for (const name of ['APP_STORE_APPS', 'BASE_URL', 'APP_STORE_KEY_FILE', 'PLAY_PACKAGES']) {
    expect(printed).toContain(`Set ${name}`.replace('Set APP_STORE_KEY_FILE', 'APP_STORE_KEY_FILE'))
  }
})

test('stores check says whether Apple accepts the key for each app and environment', async () => {
  await using world = await createWorldWithApi({ BASE_URL: URL })
  const { app, api } = world
  const { outcome, printed } = await runCommand(app, 'stores check')
  expect(outcome.map(({ fault }: { fault: string | null }) => fault)).toEqual(Array(5).fill(null))
  expect(printed).toContain(`${URL}/api/webhooks/app-store/v1`)
  api.faults.push({ status: 401 })
  const refused = await runCommand(app, 'stores check')
  expect(refused.printed).toContain('FAILED\tcom.example.app in production: Apple refuses the key.')
})

test('stores test waits for the result of the test notification', async () => {
  await using world = await createWorldWithApi()
  const { app, api } = world
  expect((await runCommand(app, 'stores test')).printed).toBe('ok\tcom.example.app in production')
  api.faults.push({ status: 404, errorCode: 4040007 })
  const { printed } = await runCommand(app, 'stores test', [], { sandbox: true })
  expect(printed).toContain('App Store Connect has no notification URL')
})

test('stores status shows when the last notification arrived', async () => {
  await using world = await createWorldWithApi()
  const { app, store } = world
  expect((await runCommand(app, 'stores status')).outcome.apps).toMatchObject([
    { environment: 'production', lastNotificationAt: null },
    { environment: 'sandbox', lastNotificationAt: null },
  ])
  const at = app.clock.now.toISOString()
  await deliver(app, store.buy().notification)
  expect((await runCommand(app, 'stores status')).outcome.apps).toMatchObject([
    { environment: 'production', lastNotificationAt: at },
    { environment: 'sandbox', lastNotificationAt: null },
  ])
})

test('stores catch-up reports how many notifications were missing', async () => {
  await using world = await createWorldWithApi()
  const { app, store } = world
  store.buy()
  app.clock.advance(1_000)
  const { printed } = await runCommand(app, 'stores catch-up')
  expect(printed).toBe('Read 1 notifications: 1 were missing.')
})

test('purchases list finds unclaimed purchases, and products that a user has twice', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  const free = store.buy({ product: 'free_standing' })
  const alike = store.buy({ product: 'free_standing' })
  const twice = [store.buy({ userId }), store.buy({ userId })]
  const other = store.buy({ userId, product: 'other' })
  for (const bought of [free, alike, ...twice, other]) await deliver(app, bought.notification)
  const idsOf = async (options: Record<string, boolean>) => {
    const { outcome } = await runCommand(app, 'purchases list', [], options)
    return outcome.map(({ transactionId }: { transactionId: string }) => transactionId)
  }
  expect(await idsOf({})).toHaveLength(5)
  expect(await idsOf({ unclaimed: true })).toEqual(
    [free, alike].map((one) => one.originalTransactionId),
  )
  expect(await idsOf({ doubled: true })).toEqual(twice.map((one) => one.originalTransactionId))
})

test('a search for purchases ends when its client has disconnected', async () => {
  await using world = await createWorld()
  const { app, store } = world
  for (let at = 0; at < 3; at++) await deliver(app, store.buy({}).notification)
  const { page } = app.services.stores.purchaseSearch
  const options = { filter: 'differing', limit: 1 } as const
  expect((await page(options)).next).toBeNull()
  expect((await page({ ...options, signal: AbortSignal.abort() })).next).toBeString()
})

test('purchases list finds purchases about which the billing provider and the store disagree', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  const [alike, longer, other] = [
    store.buy({ userId }),
    store.buy({ userId }),
    store.buy({ userId }),
  ]
  const provide = async (bought: typeof alike, fields: object) => {
    const { event, ...body } = providerEvent(bought, 'INITIAL_PURCHASE', app.clock.now.getTime())
    const json = { ...body, event: { ...event, ...fields } }
    await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
  }
  const idsOf = async () => {
    const { outcome } = await runCommand(app, 'purchases list', [], { differing: true })
    return outcome.map(({ transactionId }: { transactionId: string }) => transactionId)
  }
  await provide(other, { product_id: 'gold' })
  app.clock.advance(1_000)
  for (const bought of [alike, longer, other]) await deliver(app, bought.notification)
  await provide(alike, {})
  await provide(longer, { expiration_at_ms: Number(longer.transaction['expiresDate']) + 7_200_000 })
  const { originalTransactionId: id } = longer
  expect(await idsOf()).toEqual([id, other.originalTransactionId])
  app.clock.advance(1_000)
  await deliver(app, longer.extend(2 / 24))
  expect(await idsOf()).toEqual([other.originalTransactionId])
})

test('purchases link moves a purchase regardless of the policy, and purchases show names its owner', async () => {
  await using world = await createWorld(undefined, undefined, { PURCHASE_TRANSFER: 'never' })
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  const other = await app.register('bob@example.com')
  const { originalTransactionId: id } = bought
  expect((await runCommand(app, 'purchases show', [id])).outcome).toMatchObject([
    { userId: world.userId, isClaimed: false, source: 'store' },
  ])
  await runCommand(app, 'purchases give', [id, 'bob@example.com'])
  expect((await runCommand(app, 'purchases show', [id])).outcome).toMatchObject([
    { userId: other.user._id, isClaimed: true },
  ])
  expect(await listSubscriptions()).toEqual([])
  await expect(runCommand(app, 'purchases give', [id, 'nobody'])).rejects.toThrow('no user nobody')
  await expect(runCommand(app, 'purchases give', ['1', other.user._id])).rejects.toThrow(
    'There is no purchase 1.',
  )
})

test('purchases refresh records what Apple reports now, even for the order number on a receipt', async () => {
  await using world = await createWorldWithApi()
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  bought.refund()
  const { outcome } = await runCommand(app, 'purchases ask', [bought.originalTransactionId])
  expect(outcome).toMatchObject([{ status: 'refunded' }])
  expect(await listSubscriptions()).toMatchObject([{ status: 'refunded' }])
  const order = store.orderOf(bought.originalTransactionId)
  expect((await runCommand(app, 'purchases show', [order])).outcome).toMatchObject([
    { transactionId: bought.originalTransactionId },
  ])
  await expect(runCommand(app, 'purchases show', ['MUNKNOWN'])).rejects.toThrow('no purchase')
})

test('events show prints the signed record until the user is deleted or the record has expired', async () => {
  await using world = await createWorld()
  const { app, store, userId, token } = world
  const kept = store.buy()
  const erased = store.buy({ userId })
  const signedOf = async ({ notification }: typeof kept) => {
    const { outcome } = await runCommand(app, 'events show', [notification.claims.notificationUUID])
    return outcome.signed
  }
  for (const one of [kept, erased]) {
    await deliver(app, one.notification)
    expect(await signedOf(one)).toBe(one.notification.body.signedPayload)
  }
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  expect(await signedOf(erased)).toBeUndefined()
  app.clock.advance(179 * 24 * 3_600_000)
  await app.services.signedRecords.clearOld(AbortSignal.timeout(5_000))
  expect(await signedOf(kept)).toBeString()
  app.clock.advance(2 * 24 * 3_600_000)
  await app.services.signedRecords.clearOld(AbortSignal.timeout(5_000))
  expect(await signedOf(kept)).toBeUndefined()
})

test('the console does not show signed records, because anyone could submit them', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const { notification } = store.buy()
  await deliver(app, notification)
  const rita = await signInOperator(app, { name: 'rita', role: 'reader' })
  const event = await rita.read(`events/${notification.claims.notificationUUID}`)
  expect(event.eventId).toBe(notification.claims.notificationUUID)
  expect(JSON.stringify(event)).not.toContain('eyJ')
})

test('purchases list leaves out a non-renewing subscription that has ended', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  const product = 'prod_example_pro'
  const bought = store.buyOnce('Non-Renewing Subscription', { product, userId })
  await deliver(app, bought.notification)
  expect((await runCommand(app, 'purchases list')).printed).toContain('active\t2026-11-01')
  app.clock.advance(40 * DAY)
  expect((await runCommand(app, 'purchases list')).printed).not.toContain(product)
  const { printed } = await runCommand(app, 'purchases show', [bought.transactionId])
  expect(printed).toContain('"status": "expired"')
})

test('purchases answer-refund sends an answer to Apple only with the customer’s consent', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  const { originalTransactionId: id } = bought
  await expect(runCommand(app, 'purchases answer-refund', [id])).rejects.toThrow('--consented')
  const options = { consented: true, prefer: 'decline' }
  await runCommand(app, 'purchases answer-refund', [id], options)
  app.clock.advance(30 * DAY)
  await deliver(app, bought.renew())
  await deliver(app, bought.signNotification('CONSUMPTION_REQUEST'))
  const renewal = String(bought.transaction['transactionId'])
  for (const typed of [id, store.orderOf(id), renewal]) {
    const { printed } = await runCommand(app, 'purchases answer-refund', [typed], options)
    expect(printed).toBe(`Apple has received the answer about ${renewal}.`)
  }
  expect(api.consumptions.map(({ transactionId }) => transactionId)).toEqual([
    ...[id, renewal, renewal, renewal],
  ])
  expect(api.consumptions.slice(0, 1)).toEqual([
    {
      transactionId: id,
      body: {
        customerConsented: true,
        deliveryStatus: 'DELIVERED',
        sampleContentProvided: false,
        refundPreference: 'DECLINE',
      },
    },
  ])
})
