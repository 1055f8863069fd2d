import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, lifecycle, ms, purchase } from '../../support/billing.ts'
import { runCommand } from '../../support/commands.ts'
import { serveProvider } from '../../support/subscriber-api.ts'

const SUBSCRIPTION = '/api/user/subscription/v1'

async function isActive(app: TestApp, token: string): Promise<boolean> {
  const { response } = (await app.ask('GET', SUBSCRIPTION, { token })).json
  return response.entitlements.some(({ active }: { active: boolean }) => active)
}

test.each(['INITIAL_PURCHASE', 'RENEWAL', 'SUBSCRIPTION_EXTENDED', 'NON_RENEWING_PURCHASE'])(
  'lists %s with an invalid end as failed, with the name of the field',
  async (type) => {
    await using app = await createTestApp()
    app.clock.now = new Date(ms(1))
    const event = lifecycle('ann', type, 0, { id: 'E', expiration_at_ms: 'soon' })
    expect(await deliver(app, event)).toBe('ignored')
    const { outcome } = await runCommand(app, 'events list', [], { failed: true })
    expect(outcome).toMatchObject([{ eventId: 'E', outcome: 'failed' }])
    expect((outcome as { error: string }[])[0]?.error).toContain('expiration_at_ms')
    await app.services.eventFolding.retryFailed(AbortSignal.timeout(5_000))
    expect((await app.services.eventSearch.countMarked()).failed).toBe(1)
  },
)

test.each([
  ['user', lifecycle('ann', 'INITIAL_PURCHASE', 0, { app_user_id: null, expiration_day: 30 })],
  ['user', lifecycle('ann', 'EXPIRATION', 0, { app_user_id: undefined })],
  ['product', lifecycle('ann', 'RENEWAL', 0, { product_id: null, expiration_day: 30 })],
  ['product', lifecycle('ann', 'NON_RENEWING_PURCHASE', 0, { product_id: undefined })],
  ['users', { type: 'TRANSFER', at: 0, transferred_from: ['ann'], transferred_to: [] }],
])('an event that names no %s is ignored, and its error says so', async (what, fixture) => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  expect(await deliver(app, { ...fixture, id: 'E' })).toBe('ignored')
  const { outcome, error } = (await app.services.eventSearch.show('E')) ?? {}
  expect([outcome, error]).toEqual(['ignored', expect.stringContaining(what)])
  expect(await app.services.db.read.$count(app.services.db.tables.subscriptions)).toBe(0)
})

test('lists a subscription whose reported end is invalid only once', async () => {
  const reported = {
    store: 'app_store',
    purchase_date: '2026-10-02T00:00:00Z',
    expires_date: 'soon',
  }
  const subscriber = { entitlements: {}, subscriptions: { pro: reported } }
  using provider = serveProvider(() => Response.json({ request_date_ms: ms(40), subscriber }))
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  app.clock.now = new Date(ms(40))
  await deliver(app, purchase('ann'))
  for (let runs = 0; runs < 2; runs++) {
    const report = await app.services.reconcile?.reconcileUser('ann', AbortSignal.timeout(5_000))
    expect(report).toMatchObject({ corrected: [], failed: ['ann pro'] })
  }
  const { events } = await app.services.eventSearch.find({ outcome: 'failed' })
  expect(events.map(({ error }) => error)).toEqual([expect.stringContaining('expires_date')])
})

test.each<[string, (id: string) => object]>([
  ['app_user_id', (id) => ({ app_user_id: id })],
  ['original_app_user_id', (id) => ({ app_user_id: '$RCAnonymousID:1', original_app_user_id: id })],
  ['aliases', (id) => ({ app_user_id: '$RCAnonymousID:1', aliases: [id] })],
])('finds the user by an upper-case id in %s', async (_name, fields) => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user, accessToken } = await app.register()
  await deliver(app, { ...purchase('x'), ...fields(user._id.toUpperCase()) })
  expect(await isActive(app, accessToken)).toBe(true)
})

test('a transfer to an id in upper case moves the purchase', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(2))
  const [ann, bob] = [await app.register(), await app.register('bob@example.com')]
  await deliver(app, purchase(ann.user._id))
  const ids = {
    transferred_from: [ann.user._id.toUpperCase()],
    transferred_to: [bob.user._id.toUpperCase()],
  }
  await deliver(app, { type: 'TRANSFER', at: 1, ...ids })
  const access = [await isActive(app, ann.accessToken), await isActive(app, bob.accessToken)]
  expect(access).toEqual([false, true])
})

test('a purchase under a placeholder id belongs to the real user that the event names', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user, accessToken } = await app.register()
  await deliver(app, purchase('anonymous', { original_app_user_id: user._id }))
  expect(await isActive(app, accessToken)).toBe(true)
})

test('a transfer from a placeholder id moves nothing', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(2))
  const { user, accessToken } = await app.register()
  await deliver(app, purchase('anonymous'))
  const transfer = { type: 'TRANSFER', at: 1, transferred_to: [user._id] }
  expect(await deliver(app, { ...transfer, transferred_from: ['anonymous'] })).toBe('ignored')
  expect(await isActive(app, accessToken)).toBe(false)
})

test('a transfer that also names a placeholder id moves the purchase to the real user', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(2))
  const { user, accessToken } = await app.register()
  await deliver(app, purchase('ann'))
  const names = { transferred_from: ['ann'], transferred_to: ['anonymous', '$RCAnonymousID:1'] }
  await deliver(app, { type: 'TRANSFER', at: 1, ...names })
  await deliver(app, {
    ...lifecycle(user._id, 'SUBSCRIBER_ALIAS', 1),
    aliases: ['$RCAnonymousID:1'],
  })
  expect(await isActive(app, accessToken)).toBe(true)
})

test('a rebuild gives a purchase stored under a placeholder id to the real user', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user, accessToken } = await app.register()
  await deliver(app, purchase('anonymous', { original_app_user_id: user._id }))
  const { db, rebuildBilling } = app.services
  const { subscriptions, purchaseOwners, billingAliases } = db.tables
  await db.write(async (tx) => {
    const customerId = 'anonymous'
    const [row] = await tx.select().from(subscriptions)
    const state = JSON.parse(JSON.stringify(row?.state).replaceAll(user._id, customerId))
    await tx.update(subscriptions).set({ customerId, state })
    await tx.update(purchaseOwners).set({ customerId })
    await tx.insert(billingAliases).values({ appUserId: customerId, customerId })
  })
  expect(await isActive(app, accessToken)).toBe(false)
  await rebuildBilling(AbortSignal.timeout(10_000))
  expect(await isActive(app, accessToken)).toBe(true)
})

test('ids from other backends keep their spelling', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  await deliver(app, purchase('User-1'))
  expect(await app.services.subscription.isKnown('User-1')).toBe(true)
  expect(await app.services.subscription.isKnown('user-1')).toBe(false)
})

test('a rebuild links purchases that were stored under an id in upper case', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user, accessToken } = await app.register()
  const [capitals, keyless] = [
    user._id.toUpperCase(),
    { transaction_id: null, original_transaction_id: null },
  ]
  await deliver(app, purchase(user._id, { id: 'E' }))
  await deliver(app, purchase(user._id, { id: 'K', ...keyless }))
  await storeAsBefore(app, user._id, capitals)
  expect(await isActive(app, accessToken)).toBe(false)
  await app.services.rebuildBilling(AbortSignal.timeout(10_000))
  expect(await isActive(app, accessToken)).toBe(true)
  const { db } = app.services
  const { subscriptions, billingEvents } = db.tables
  const keys = (await db.read.select().from(subscriptions)).map(({ purchaseKey }) => purchaseKey)
  expect(keys.toSorted()).toEqual([
    'PRODUCTION|1000',
    `PRODUCTION|APP_STORE|prod_example_pro|${user._id}`,
  ])
  const events = await db.read.select().from(billingEvents)
  expect(events.map(({ appUserId }) => appUserId)).toEqual([user._id, user._id])
})

/** Stores ids in upper case, as earlier versions did. */
async function storeAsBefore({ services: { db } }: TestApp, id: string, capitals: string) {
  const { billingEvents, billingAliases, subscriptions, purchaseOwners } = db.tables
  await db.write(async (tx) => {
    for (const row of await tx.select().from(billingEvents)) {
      const body = Buffer.from(Buffer.from(row.body).toString().replaceAll(id, capitals))
      const purchaseKey = row.purchaseKey?.replace(id, capitals) ?? null
      await tx
        .update(billingEvents)
        .set({ body, appUserId: capitals, purchaseKey })
        .where(eq(billingEvents.id, row.id))
    }
    for (const row of await tx.select().from(subscriptions)) {
      const purchaseKey = row.purchaseKey.replace(id, capitals)
      const state = JSON.parse(JSON.stringify(row.state).replaceAll(id, capitals))
      await tx
        .update(subscriptions)
        .set({ customerId: capitals, purchaseKey, state })
        .where(eq(subscriptions.purchaseKey, row.purchaseKey))
    }
    await tx.delete(purchaseOwners)
    await tx.update(billingAliases).set({ appUserId: capitals, customerId: capitals })
  })
}

test('numeric ids identify the same user and purchase as the same ids in text', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(2))
  await deliver(app, purchase('7', { original_transaction_id: '1000' }))
  const numbers = { app_user_id: 7, original_transaction_id: 1000, transaction_id: 1001 }
  await deliver(app, { ...lifecycle('7', 'RENEWAL', 1, { expiration_day: 60 }), ...numbers })
  const { db, subscription } = app.services
  expect(await db.read.$count(db.tables.subscriptions)).toBe(1)
  const { subscriptions } = await subscription.readForExport('7', 'production')
  expect(subscriptions).toMatchObject([{ expiresAt: new Date(ms(60)).toISOString() }])
})

test('a transfer of 1,200 ids moves the purchase of the last one', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(2))
  const ids = Array.from({ length: 1_200 }, (_, at) => `old-${at}`)
  await deliver(app, purchase('old-1199'))
  await deliver(app, { type: 'TRANSFER', at: 1, transferred_from: ids, transferred_to: ['new'] })
  await app.services.backlog.flush()
  const { subscriptions } = await app.services.subscription.readForExport('new', 'production')
  expect(subscriptions).toMatchObject([{ status: 'active' }])
})

test('a transfer of more ids than are read is listed as failed', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(2))
  const ids = Array.from({ length: 9_000 }, (_, at) => `old-${at}`)
  const transfer = { type: 'TRANSFER', at: 1, transferred_from: ids, transferred_to: ['new'] }
  expect(await deliver(app, { ...transfer, id: 'E' })).toBe('ignored')
  const { outcome, error } = (await app.services.eventSearch.show('E')) ?? {}
  expect([outcome, error]).toEqual(['failed', expect.stringContaining('transferred_from')])
})

test('lifetime access granted until 2222 does not count as an implausible time', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  await deliver(app, {
    ...lifecycle('ann', 'NON_RENEWING_PURCHASE', 0, { purchased_day: 0 }),
    ...{ store: 'PROMOTIONAL', period_type: 'PROMOTIONAL', expiration_at_ms: Date.UTC(2222, 3) },
  })
  expect((await app.services.eventSearch.countMarked()).clockIsOff).toBe(0)
})
