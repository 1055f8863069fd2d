import { expect, test } from 'bun:test'
import { WEBHOOK_TOKEN } from '../../support/app.ts'
import {
  createWorld,
  deliver,
  listSubscriptions,
  signIn,
  submit,
} from '../../support/app-store/world.ts'
import { startSmtp } from '../../support/smtp.ts'
import { until } from '../../support/until.ts'

const DAY = 24 * 60 * 60 * 1000

test('another user’s purchase moves only on request, and the former owner is notified', async () => {
  await using smtp = await startSmtp()
  await using world = await createWorld(undefined, undefined, { SMTP_URL: smtp.url })
  await smtp.next(world.email) // the confirmation of the address
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

test('the billing provider moves a submitted purchase only to a new owner', async () => {
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
  await deliverEvent('UNCANCELLATION', 'other-user')
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

test('a user can take over the purchase of a guest immediately', async () => {
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

test('a user can claim the purchase of a deleted user, and one whose token names no user', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const bought = store.buy({ userId: world.userId })
  const unknown = store.buy({ userId: crypto.randomUUID() })
  for (const one of [bought, unknown]) await deliver(app, one.notification)
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token: world.token })).status).toBe(200)
  const isOwnerDeleted = async ({ originalTransactionId }: typeof bought) =>
    (await app.services.stores.purchaseSearch.findOrThrow(originalTransactionId))[0]?.isOwnerDeleted
  await until(() => isOwnerDeleted(bought), 'the owner is not shown as deleted')
  expect(await isOwnerDeleted(unknown)).toBe(false)
  const other = await app.register()
  const all = [bought, unknown].map((one) => one.signedTransaction())
  const { results, subscription } = await submit(app, other.accessToken, all)
  expect(results).toMatchObject([{ outcome: 'bound' }, { outcome: 'bound' }])
  expect(subscription.subscriptions).toHaveLength(2)
})

test('a purchase stays with the user who took it over after the provider had transferred it', async () => {
  await using world = await createWorld()
  const { app, store, userId: ann } = world
  const bob = (await app.register()).user._id
  const bought = store.buy({})
  const start = app.clock.now.getTime()
  let count = 0
  const deliverOnDay = async (day: number, type: string, fields: object) => {
    app.clock.now = new Date(start + day * DAY)
    const about = {
      environment: 'PRODUCTION',
      store: 'APP_STORE',
      event_timestamp_ms: start + day * DAY,
    }
    const event = { id: `E-${++count}`, type, ...about, ...fields }
    const json = { api_version: '1.0', event }
    const reply = await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
    expect(reply.status).toBe(200)
  }
  const period = (day: number, userId: string) => ({
    app_user_id: userId,
    product_id: 'pro_month',
    purchased_at_ms: start + day * DAY,
    expiration_at_ms: start + (day + 30) * DAY,
    transaction_id: `${bought.originalTransactionId}${day}`,
    original_transaction_id: bought.originalTransactionId,
  })
  await deliverOnDay(0, 'INITIAL_PURCHASE', period(0, ann))
  await deliverOnDay(5, 'TRANSFER', { transferred_from: [ann], transferred_to: [bob] })
  const token = await signIn(app, world.email)
  await submit(app, token, [bought.signedTransaction()], true)
  await deliverOnDay(30, 'RENEWAL', period(30, bob))
  expect(await listSubscriptions(app, ann)).toMatchObject([{ active: true }])
  expect(await listSubscriptions(app, bob)).toEqual([])
})
