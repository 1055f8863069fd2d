import { expect, test } from 'bun:test'
import { type TestApp, WEBHOOK_TOKEN } from '../../support/app.ts'
import { createWorld, deliver, type Notification } from '../../support/app-store/world.ts'
import { permutations } from '../../support/billing.ts'
import { cases } from '../../support/cases.ts'

const DAY = 24 * 60 * 60 * 1000

test('a purchase gives access until a refund, and a reversed refund gives it back', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  expect(await deliver(app, bought.notification)).toBe('ok')
  expect(await listSubscriptions()).toMatchObject([
    { status: 'active', store: 'APP_STORE', productId: 'pro_month', willRenew: true },
  ])
  app.clock.advance(DAY)
  await deliver(app, bought.refund())
  expect(await listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
  app.clock.advance(DAY)
  await deliver(app, bought.reverseRefund())
  expect(await listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
})

test('a failed payment keeps access for the grace period, and a recovery restores it', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  await deliver(app, bought.notification)
  app.clock.advance(30 * DAY)
  await deliver(app, bought.failToRenew(6))
  app.clock.advance(DAY)
  expect(await listSubscriptions()).toMatchObject([{ status: 'in_grace_period', active: true }])
  app.clock.advance(6 * DAY)
  await deliver(app, bought.endGrace())
  expect(await listSubscriptions()).toMatchObject([{ status: 'expired', active: false }])
  app.clock.advance(DAY)
  await deliver(app, bought.renew('BILLING_RECOVERY'))
  expect(await listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
})

test('a downgrade is pending until the renewal, an upgrade takes effect immediately', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId, product: 'pro_month' })
  await deliver(app, bought.notification)
  app.clock.advance(DAY)
  await deliver(app, bought.changeProduct('basic_month', false))
  expect(await listSubscriptions()).toMatchObject([
    { productId: 'pro_month', pendingProductId: 'basic_month' },
  ])
  app.clock.advance(DAY)
  await deliver(app, bought.changeProduct('pro_year', true))
  const [upgraded] = await listSubscriptions()
  expect(upgraded).toMatchObject({ productId: 'pro_year', status: 'active' })
  expect(upgraded).not.toHaveProperty('pendingProductId')
})

test('every order and repetition of notifications gives the same access', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const bought = store.buy({ userId: world.userId })
  const deliveries: Notification[] = [bought.notification]
  const steps = [() => bought.setAutoRenew(false), () => bought.renew(), () => bought.refund()]
  for (const step of steps) {
    app.clock.advance(10 * DAY)
    deliveries.push(step())
  }
  const states = new Set<string>()
  for (const order of sample(permutations(deliveries), cases(4, 24))) {
    await using other = await createWorld(store, app.clock.now)
    for (const each of [...order, ...order]) await deliver(other.app, each)
    states.add(JSON.stringify(await stateIn(other.app)))
  }
  expect([...states]).toHaveLength(1)
  expect([...states][0]).toContain('"refundedAt"')
}, 60_000)

test('a purchase gives the entitlements of its plan, and plan changes apply immediately', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  await deliver(app, store.buy({ userId, product: 'com.example.pro' }).notification)
  const entitled = async () => {
    const read = await app.services.subscription.readForExport(userId, 'production')
    return [read.plan?.code, read.entitlements.map(({ id, active }) => [id, active])]
  }
  expect(await entitled()).toEqual(['free', []])
  expect(await app.services.listUnmatched()).toMatchObject([{ productId: 'com.example.pro' }])
  const [free, month, year] = await app.services.plans.list()
  const { entitlementIds: _, ...rest } = month as NonNullable<typeof month>
  const sold = { ...rest, otherProductIds: ['com.example.pro'] }
  await app.services.plans.publish([free, sold, year])
  expect(await entitled()).toEqual(['pro_month', [['pro_month', true]]])
  await app.services.plans.publish([free, { ...sold, entitlementIds: ['pro', 'export'] }, year])
  expect(await entitled()).toEqual([
    'pro_month',
    [
      ['export', true],
      ['pro', true],
    ],
  ])
})

test('notifications and billing events about one purchase result in one purchase, in every order', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  const first = eventOf('INITIAL_PURCHASE', bought.transaction, userId)
  app.clock.advance(30 * DAY)
  const renewed = bought.renew()
  const second = eventOf('RENEWAL', bought.transaction, userId)
  app.clock.advance(DAY)
  const cancelled = bought.setAutoRenew(false)
  const deliveries = [bought.notification.body, first, renewed.body, second, cancelled.body]
  const states = new Set<string>()
  for (const order of sample(permutations(deliveries), cases(6, 24))) {
    await using other = await createWorld(store, app.clock.now)
    for (const body of [...order, ...order]) await deliverTo(other.app, body)
    states.add(JSON.stringify(await stateIn(other.app)))
  }
  expect([...states]).toHaveLength(1)
  expect(JSON.parse([...states][0] ?? '')).toMatchObject([
    { willRenew: false, entitlementIds: ['pro'], expiresAt: bought.transaction['expiresDate'] },
  ])
}, 60_000)

test('a renewal reported only by the billing provider counts until the store reports a later change', async () => {
  await using world = await createWorld()
  const { app, store, userId, listSubscriptions } = world
  const bought = store.buy({ userId })
  await deliver(app, bought.notification)
  const beforeRenewal = { ...bought.transaction }
  app.clock.advance(30 * DAY)
  bought.renew()
  await deliverTo(app, eventOf('RENEWAL', bought.transaction, userId))
  app.clock.advance(DAY)
  expect(await listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
  // A late notification about the earlier period.
  const current = { ...bought.transaction }
  Object.assign(bought.transaction, beforeRenewal)
  await deliver(app, bought.expire())
  expect(await listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
  Object.assign(bought.transaction, current)
  app.clock.advance(DAY)
  await deliver(app, bought.refund())
  expect(await listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
})

test('a refund that only the billing provider reports ends access', async () => {
  await using world = await createWorld()
  const { app, store, userId, listSubscriptions } = world
  for (const refund of [
    { cancel_reason: 'CUSTOMER_SUPPORT' },
    { cancel_reason: 'DEVELOPER_INITIATED', price: -9.99 },
  ]) {
    const bought = store.buy({ userId })
    await deliver(app, bought.notification)
    const { event } = eventOf('CANCELLATION', bought.transaction, userId)
    await deliverTo(app, { event: { ...event, ...refund } })
  }
  expect(await listSubscriptions()).toMatchObject([{ status: 'refunded' }, { status: 'refunded' }])
})

test('a purchase without an account token has no owner until the billing provider names one', async () => {
  await using world = await createWorld()
  const { app, store, userId, listSubscriptions } = world
  const bought = store.buy()
  await deliver(app, bought.notification)
  expect(await listSubscriptions()).toEqual([])
  app.clock.advance(DAY)
  await deliverTo(app, eventOf('INITIAL_PURCHASE', bought.transaction, userId))
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
  const other = await app.register()
  Object.assign(bought.transaction, { appAccountToken: other.user._id })
  app.clock.advance(29 * DAY)
  await deliver(app, bought.renew())
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('removes a deleted user’s id from later notifications, in any letter case', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId: userId.toUpperCase() })
  await deliver(app, bought.notification)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token: world.token })).status).toBe(200)
  app.clock.advance(30 * DAY)
  const { claims, body } = bought.renew()
  expect(await deliver(app, { body })).toBe('ok')
  const { db } = app.services
  const rows = await db.read.select().from(db.tables.billingEvents)
  const stored = rows.map(({ body, appUserId }) => `${Buffer.from(body)} ${appUserId}`).join()
  expect(stored).toContain(claims.notificationUUID)
  expect(stored.toLowerCase()).not.toContain(userId)
})

test('a repeated notification is a duplicate, and one with other claims conflicts', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const { claims, body } = store.buy({ userId: world.userId }).notification
  expect(await deliver(app, { body })).toBe('ok')
  expect(await deliver(app, { body: { signedPayload: store.signer.sign(claims) } })).toBe(
    'duplicate',
  )
  const again = { ...claims, signedDate: claims.signedDate + 1 }
  expect(await deliver(app, { body: { signedPayload: store.signer.sign(again) } })).toBe(
    'duplicate',
  )
  const { notificationUUID: id } = claims
  expect(await app.services.eventSearch.show(id)).toMatchObject({
    duplicates: 2,
    conflicting: false,
  })
  const other = { ...claims, notificationType: 'DID_RENEW' }
  await deliver(app, { body: { signedPayload: store.signer.sign(other) } })
  expect(await app.services.eventSearch.show(id)).toMatchObject({
    duplicates: 3,
    conflicting: true,
  })
})

test('a refund of an earlier period does not end access', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  const bought = store.buy({ userId: world.userId })
  const before = { ...bought.transaction }
  await deliver(app, bought.notification)
  app.clock.advance(30 * DAY)
  await deliver(app, bought.renew())
  app.clock.advance(DAY)
  const current = { ...bought.transaction }
  Object.assign(bought.transaction, before, { revocationDate: app.clock.now.getTime() })
  await deliver(app, bought.signNotification('REFUND'))
  expect(await listSubscriptions()).toMatchObject([
    { status: 'active', expiresAt: new Date(Number(current['expiresDate'])).toISOString() },
  ])
})

test('sandbox purchases give no access in production', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  await deliver(app, store.buy({ userId: world.userId, environment: 'Sandbox' }).notification)
  expect(await listSubscriptions()).toEqual([])
  expect(await listSubscriptions('sandbox')).toMatchObject([{ status: 'active' }])
})

test('notifications without a transaction, and of unknown types, are recorded', async () => {
  await using world = await createWorld()
  const { app, store, listSubscriptions } = world
  const data = { environment: 'Sandbox', bundleId: 'com.example.app' }
  expect(await deliver(app, store.notification('TEST', undefined, { data }))).toBe('ignored')
  const summary = { ...data, requestIdentifier: 'r', succeededCount: 5, failedCount: 0 }
  const extended = store.notification('RENEWAL_EXTENSION', 'SUMMARY', { summary })
  expect(await deliver(app, extended)).toBe('ignored')
  const bought = store.buy({ userId: world.userId })
  expect(await deliver(app, bought.signNotification('SOMETHING_NEW', 'WITH_SUBTYPE'))).toBe('ok')
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
})

/** Picks at most `count` evenly spaced orders. */
function sample<T>(orders: Iterable<T>, count: number): T[] {
  const all = [...orders]
  return all.filter((_, at) => at % Math.ceil(all.length / count) === 0)
}

/** The billing provider's event about the period of a transaction, an hour after it began. */
function eventOf(type: string, transaction: Record<string, unknown>, userId: string) {
  const { purchaseDate, expiresDate, productId, transactionId, originalTransactionId } = transaction
  const event = {
    id: `${type}-${transactionId}`,
    type,
    event_timestamp_ms: Number(purchaseDate) + 3_600_000,
    app_user_id: userId,
    environment: 'PRODUCTION',
    store: 'APP_STORE',
    product_id: productId,
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    purchased_at_ms: purchaseDate,
    expiration_at_ms: expiresDate,
    transaction_id: transactionId,
    original_transaction_id: originalTransactionId,
  }
  return { api_version: '1.0', event }
}

/** Delivers a body to its webhook. */
async function deliverTo(app: TestApp, body: object): Promise<void> {
  if ('signedPayload' in body) return void (await deliver(app, { body } as Notification))
  const path = '/api/webhooks/billing/v1'
  const reply = await app.ask('POST', path, { token: WEBHOOK_TOKEN, json: body })
  expect(reply.status).toBe(200)
}

async function stateIn({ services: { db } }: TestApp) {
  const rows = await db.read.select().from(db.tables.subscriptions)
  return rows.map(({ state }) => (state as { line: object }).line)
}
