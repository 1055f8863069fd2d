import { expect, test } from 'bun:test'
import { signIn } from '../../../support/app-store/world.ts'
import { advance, catchUp, drain, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const ACKNOWLEDGED = 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED'

test('a purchase is acknowledged once, and its renewals are not', async () => {
  await using world = await createPlayWorld()
  const { api, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  expect(bought.purchase.acknowledgementState).toBe(ACKNOWLEDGED)
  await advance(world, 30 * DAY)
  await report(world, bought.renew())
  expect(api.requests.filter((request) => request === 'POST acknowledge')).toHaveLength(1)
})

test.each([500, 409, 400, 404])(
  'an acknowledgement that fails with %i is repeated after the purchase is read again',
  async (status) => {
    await using world = await createPlayWorld()
    const { app, api, store, userId } = world
    app.expectErrors()
    const bought = store.buy({ userId })
    // Each time, the purchase is read and its acknowledgement fails.
    for (let time = 0; time < 4; time++) api.faults.push(null, { status, reason: 'invalid' })
    await report(world, bought.notification)
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
    expect(await app.services.stores.health.unacknowledgedAge()).toBe(0)
    for (let minute = 0; minute < 60; minute++) await advance(world, MINUTE)
    expect(bought.purchase.acknowledgementState).toBe(ACKNOWLEDGED)
    const requests = api.purchaseRequests.map(({ request }) => request)
    expect(requests).toEqual(Array(5).fill(['GET subscriptionsv2', 'POST acknowledge']).flat())
    await report(world, bought.cancel())
    expect(await world.listSubscriptions()).toMatchObject([{ willRenew: false }])
  },
)

test('an acknowledgement whose response was lost counts as done', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  app.expectErrors()
  const bought = store.buy({ userId })
  api.faults.push(null, { status: 504 })
  await report(world, bought.notification)
  bought.acknowledge()
  await advance(world, MINUTE)
  const requests = api.purchaseRequests.map(({ request }) => request)
  expect(requests).toEqual(['GET subscriptionsv2', 'POST acknowledge', 'GET subscriptionsv2'])
  expect(await app.services.stores.health.unacknowledgedAge()).toBe(0)
})

test('the age of the oldest unacknowledged purchase grows until it is acknowledged', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  app.expectErrors()
  const bought = store.buy({ userId })
  for (let time = 0; time < 8; time++) api.faults.push(null, { status: 500 })
  await report(world, bought.notification)
  for (let minute = 0; minute < 60; minute++) await advance(world, MINUTE)
  expect(await app.services.stores.health.unacknowledgedAge()).toBe(3600)
  for (let hour = 0; hour < 12; hour++) await advance(world, 60 * MINUTE)
  expect(await app.services.stores.health.unacknowledgedAge()).toBe(0)
})

test('new purchases are acknowledged before routine checks', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  app.expectErrors()
  const known = Array.from({ length: 8 }, () => store.buy({ userId }))
  await report(world, ...known.map(({ notification }) => notification))
  await advance(world, 6 * DAY)
  api.faults.push({ status: 500 })
  await report(world, store.buy({ userId }).notification)
  api.purchaseRequests.splice(0)
  const fresh = store.buy({ userId })
  for (const one of known) await world.push(one.schedulePause())
  await world.push(fresh.notification)
  await advance(world, MINUTE)
  expect(
    api.purchaseRequests.findIndex(({ token }) => known.some((one) => one.token === token)),
  ).toBe(2)
  expect(fresh.purchase.acknowledgementState).toBe(ACKNOWLEDGED)
})

test('with PLAY_ACKNOWLEDGE=claimed a purchase is acknowledged once a user has claimed it', async () => {
  await using world = await createPlayWorld({ PLAY_ACKNOWLEDGE: 'claimed' })
  const { api, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await advance(world, MINUTE)
  expect(api.requests).not.toContain('POST acknowledge')
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'known' }])
  await advance(world, MINUTE)
  expect(bought.purchase.acknowledgementState).toBe(ACKNOWLEDGED)
  await advance(world, 4 * DAY)
  expect(store.applyDeadlines()).toEqual([])
})

test('with PLAY_ACKNOWLEDGE=claimed a purchase claimed days later is acknowledged too', async () => {
  await using world = await createPlayWorld({ PLAY_ACKNOWLEDGE: 'claimed' })
  const { app, store } = world
  const bought = store.buy()
  await report(world, bought.notification)
  await advance(world, 2 * DAY)
  expect(await app.services.stores.health.unacknowledgedAge()).toBe(2 * 86_400)
  await world.submit([bought], false, await signIn(app, world.email))
  await drain(world)
  expect(bought.purchase.acknowledgementState).toBe(ACKNOWLEDGED)
})

test('with PLAY_ACKNOWLEDGE=never the app acknowledges, and the server learns of it in time', async () => {
  await using world = await createPlayWorld({ PLAY_ACKNOWLEDGE: 'never' })
  const { app, api, store } = world
  const bought = store.buy()
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'bound' }])
  bought.acknowledge()
  await advance(world, MINUTE)
  await advance(world, DAY)
  expect(api.requests).not.toContain('POST acknowledge')
  expect(await app.services.stores.health.unacknowledgedAge()).toBe(0)
})

test('lists every unacknowledged purchase, page by page and the oldest first', async () => {
  await using world = await createPlayWorld({ PLAY_ACKNOWLEDGE: 'never' })
  const { app, store, userId } = world
  for (let at = 0; at < 7; at++) {
    // Two at a time.
    if (at % 2 === 0) await advance(world, MINUTE)
    await report(world, store.buy({ userId }).notification)
  }
  const read = async (limit: number, after?: string) =>
    app.services.stores.purchaseSearch.page({ filter: 'unacknowledged', limit, after })
  const { purchases: all } = await read(100)
  expect(new Set(all.map(({ purchaseKey }) => purchaseKey)).size).toBe(7)
  const times = all.map(({ startedAt }) => startedAt ?? '')
  expect(times).toEqual(times.toSorted())
  const paged: typeof all = []
  for (let page = await read(3); ; page = await read(3, page.next)) {
    paged.push(...page.purchases)
    if (page.next === null) break
  }
  expect(paged).toEqual(all)
})

test('an unacknowledged purchase is refunded', async () => {
  await using world = await createPlayWorld({ PLAY_ACKNOWLEDGE: 'never' })
  const { app, store, userId } = world
  await report(world, store.buy({ userId }).notification)
  await advance(world, 3 * DAY)
  const notifications = store.applyDeadlines()
  expect(notifications).toHaveLength(2)
  await report(world, ...notifications)
  await catchUp(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
  await drain(world)
  expect(await app.services.stores.health.unacknowledgedAge()).toBe(0)
})

test('the refund of an unacknowledged purchase names its reason', async () => {
  await using world = await createPlayWorld({ PLAY_ACKNOWLEDGE: 'never' })
  const { app, store, userId } = world
  await report(world, store.buy({ userId }).notification)
  app.clock.advance(3 * DAY)
  store.applyDeadlines()
  await catchUp(world)
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'refunded', cancelReason: 'UNACKNOWLEDGED' },
  ])
})
