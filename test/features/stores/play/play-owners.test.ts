import { expect, test } from 'bun:test'
import { PASSWORD, WEBHOOK_TOKEN } from '../../../support/app.ts'
import { listSubscriptions, signIn } from '../../../support/app-store/world.ts'
import { deliver, lifecycle } from '../../../support/billing.ts'
import { advance, drain, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const unreachable = { status: 503 }

test('another user’s purchase moves only on request, and not on its first day', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification, bought.schedulePause())
  const requestCount = api.purchaseRequests.length
  const other = await app.register()
  const refused = { outcome: 'refused', code: 'purchase_of_another' }
  const canTakeOverAt = '2026-10-02T12:00:00.000Z'
  for (const takeOver of [false, true]) {
    const { results, subscription } = await world.submit([bought], takeOver, other.accessToken)
    expect(results).toMatchObject([{ ...refused, canTakeOverAt }])
    expect(subscription.subscriptions).toEqual([])
  }
  expect(JSON.stringify(await world.submit([bought], false, other.accessToken))).not.toContain(
    userId,
  )
  expect(api.purchaseRequests).toHaveLength(requestCount)
  app.clock.advance(DAY)
  const token = await signIn(app, other.user.email)
  expect((await world.submit([bought], false, token)).results).toMatchObject([refused])
  expect((await world.submit([bought], true, token)).results).toMatchObject([{ outcome: 'bound' }])
  expect(await world.listSubscriptions()).toEqual([])
  await report(world, bought.cancel())
  expect(await listSubscriptions(app, other.user._id)).toMatchObject([{ willRenew: false }])
})

/** A purchase that one user made two days ago, and another user; the next two requests to Google fail. */
async function buyBeforeOutage(world: Awaited<ReturnType<typeof createPlayWorld>>) {
  const { app, api, store, userId } = world
  app.expectErrors()
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.advance(2 * DAY)
  const other = await app.register()
  api.faults.push(...Array(2).fill(unreachable))
  return { bought, other }
}

test('a waiting claim does not take a purchase from its owner', async () => {
  await using world = await createPlayWorld()
  const { app } = world
  const { bought, other } = await buyBeforeOutage(world)
  expect((await world.submit([bought], false, other.accessToken)).results).toMatchObject([
    { outcome: 'checking' },
  ])
  await drain(world)
  for (let minute = 0; minute < 5; minute++) await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  expect(await listSubscriptions(app, other.user._id)).toEqual([])
})

test('a waiting take-over is not undone by a later submission without it', async () => {
  await using world = await createPlayWorld()
  const { app } = world
  const { bought, other } = await buyBeforeOutage(world)
  for (const takeOver of [true, false]) {
    const { results } = await world.submit([bought], takeOver, other.accessToken)
    expect(results).toMatchObject([{ outcome: 'checking' }])
  }
  await drain(world)
  for (let minute = 0; minute < 5; minute++) await advance(world, MINUTE)
  expect(await listSubscriptions(app, other.user._id)).toMatchObject([{ status: 'active' }])
})

test('a renewal that names the buyer does not undo a claim of a user of the same customer', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const other = await app.register()
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await deliver(app, lifecycle(userId, 'SUBSCRIBER_ALIAS', 1, { aliases: [other.user._id] }))
  app.clock.advance(2 * DAY)
  const token = await signIn(app, other.user.email)
  await world.submit([bought], true, token)
  app.clock.advance(28 * DAY)
  await report(world, bought.renew())
  expect(await listSubscriptions(app, other.user._id)).toMatchObject([{ status: 'active' }])
  expect(await world.listSubscriptions()).toEqual([])
})

test('a purchase with a user’s account id is theirs, even if the billing provider last named another user', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const other = await app.register()
  await deliver(app, lifecycle(userId, 'SUBSCRIBER_ALIAS', 1, { aliases: [other.user._id] }))
  app.clock.advance(2 * DAY)
  const token = await signIn(app, other.user.email)
  const bought = store.buy({ userId: other.user._id })
  const { results } = await world.submit([bought], false, token)
  expect(results).toMatchObject([{ outcome: 'bound' }])
})

test('the first of two users whose claims wait gets the purchase', async () => {
  for (const isFirst of [true, false]) {
    await using world = await createPlayWorld()
    const { app, api, store } = world
    app.expectErrors()
    const other = await app.register()
    const tokens = isFirst ? [world.token, other.accessToken] : [other.accessToken, world.token]
    const bought = store.buy()
    api.faults.push(...Array(4).fill(unreachable))
    for (const token of tokens) {
      await world.submit([bought], false, token)
      await drain(world)
      app.clock.advance(1000)
    }
    for (let minute = 0; minute < 10; minute++) await advance(world, MINUTE)
    expect(await world.listSubscriptions()).toHaveLength(isFirst ? 1 : 0)
    expect(await listSubscriptions(app, other.user._id)).toHaveLength(isFirst ? 0 : 1)
  }
})

test('the claim of a deleted user does not count', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  app.expectErrors()
  api.faults.push(...Array(2).fill(unreachable))
  const bought = store.buy()
  await world.submit([bought])
  await drain(world)
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token: world.token })).status).toBe(200)
  const { db } = app.services
  expect(await db.read.select().from(db.tables.playClaims)).toEqual([])
  for (let minute = 0; minute < 5; minute++) await advance(world, MINUTE)
  expect(await listSubscriptions(app, userId)).toEqual([])
  const other = await app.register()
  expect((await world.submit([bought], false, other.accessToken)).results).toMatchObject([
    { outcome: 'bound' },
  ])
})

test.each(['bound', 'checking'])(
  'a guest’s purchase moves to the account that the guest signs in to (%s)',
  async (outcome) => {
    await using world = await createPlayWorld()
    const { app, api, store, email } = world
    app.expectErrors()
    const guest = await app.ask('POST', '/api/auth/guest/v1', {})
    const { accessToken: token } = guest.json.response
    if (outcome === 'checking') api.faults.push(...Array(2).fill(unreachable))
    const bought = store.buy()
    expect((await world.submit([bought], false, token)).results).toMatchObject([{ outcome }])
    await drain(world)
    const json = { email, password: PASSWORD }
    const signedIn = await app.ask('POST', '/api/auth/login/v1', { json, token })
    expect(signedIn.status).toBe(200)
    for (let minute = 0; minute < 5; minute++) await advance(world, MINUTE)
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
    const again = await world.submit([bought], false, signedIn.json.response.accessToken)
    expect(again.results).toMatchObject([{ outcome: 'known' }])
  },
)

test('a guest keeps a purchase after signing up', async () => {
  await using world = await createPlayWorld()
  const { app, store } = world
  const guest = await app.ask('POST', '/api/auth/guest/v1', {})
  const { accessToken: token } = guest.json.response
  const bought = store.buy({ userId: guest.json.response.user._id })
  await report(world, bought.notification)
  const user = await app.register('guest@example.com', { authorization: `Bearer ${token}` })
  const again = await world.submit([bought], false, user.accessToken)
  expect(again.results).toMatchObject([{ outcome: 'known' }])
  expect(again.subscription.subscriptions).toMatchObject([{ status: 'active' }])
})

test('the new purchase of a plan change stays with the former owner when another user submits it', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId, product: 'silver' })
  await report(world, bought.notification)
  app.clock.advance(2 * DAY)
  const next = bought.changeProduct('gold', 'immediate')
  delete next.purchase.externalAccountIdentifiers
  const other = await app.register()
  const early = await world.submit([next], false, other.accessToken)
  expect(early.results).toMatchObject([{ outcome: 'refused', code: 'purchase_of_another' }])
  expect(await world.listSubscriptions()).toMatchObject([{ productId: 'gold:monthly' }, {}])
})

test('a user can submit purchases 60 times an hour', async () => {
  await using world = await createPlayWorld()
  const { app, store, token } = world
  const json = { purchases: [store.buy().submission()] }
  const statuses = new Set<number>()
  for (let time = 0; time < 60; time++) {
    statuses.add((await app.ask('POST', '/api/user/purchases/v1', { token, json })).status)
  }
  expect([...statuses]).toEqual([200])
  expect((await app.ask('POST', '/api/user/purchases/v1', { token, json })).status).toBe(429)
})

test('an add-on belongs to the user who took over the purchase, even if Google names another', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.advance(5 * DAY)
  const other = await app.register()
  await world.submit([bought], true, await signIn(app, other.user.email))
  await report(world, bought.addItem('addon'))
  await report(world, bought.cancel())
  const products = async (id: string) =>
    (await listSubscriptions(app, id)).map(({ productId }) => productId).toSorted()
  expect(await products(other.user._id)).toEqual(['addon:monthly', 'pro_month:monthly'])
  expect(await products(userId)).toEqual([])
})

test('an add-on follows a transfer by the billing provider after the claim', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await world.submit([bought], false, await signIn(app, world.email))
  const other = await app.register()
  const transfer = {
    id: 'T-1',
    type: 'TRANSFER',
    event_timestamp_ms: app.clock.now.getTime() + MINUTE,
    environment: 'PRODUCTION',
    store: 'PLAY_STORE',
    transferred_from: [userId],
    transferred_to: [other.user._id],
  }
  const json = { api_version: '1.0', event: transfer }
  await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
  app.clock.advance(DAY)
  await report(world, bought.addItem('addon'))
  expect(await listSubscriptions(app, other.user._id)).toHaveLength(2)
  expect(await world.listSubscriptions()).toEqual([])
})
