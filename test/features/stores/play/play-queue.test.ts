import { expect, test } from 'bun:test'
import { PlayApiError } from '../../../../src/features/stores/google/api/api-error.ts'
import { URGENCY } from '../../../../src/features/stores/google/refresh/purchases.ts'
import { createPlayQueue } from '../../../../src/features/stores/google/refresh/queue.ts'
import { createLog } from '../../../../src/lib/log/log.ts'
import { advance, drain, listEvents, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'
import { until } from '../../../support/until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const READ = 'GET subscriptionsv2'
const notFound = { status: 404, reason: 'purchaseTokenNotFound' }

test('queries Google three times in ten minutes about an unknown token, then never again', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  const { notification } = store.buy()
  const [unknown] = store.purchases.splice(0)
  await report(world, notification)
  const times: number[] = []
  for (let minute = 1; minute <= 60; minute++) {
    const before = api.purchaseRequests.length
    await advance(world, MINUTE)
    if (api.purchaseRequests.length > before) times.push(minute)
  }
  expect(times).toEqual([2, 10])
  await advance(world, 70 * DAY)
  expect(api.purchaseRequests.filter(({ request }) => request === READ)).toHaveLength(3)
  expect((await listEvents(world)).map(({ type }) => type)).toEqual(['PLAY_SUBSCRIPTION_PURCHASED'])
  expect(unknown?.token).toBe(api.purchaseRequests[0]?.token)
})

test('a purchase that Google reports only a moment later is recorded', async () => {
  await using world = await createPlayWorld()
  const { api, store, userId } = world
  api.faults.push(notFound, notFound)
  await report(world, store.buy({ userId }).notification)
  expect(await world.listSubscriptions()).toEqual([])
  for (let minute = 0; minute < 10; minute++) await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('a purchase that has expired at Google keeps its end, and is not queried again', async () => {
  await using world = await createPlayWorld()
  const { api, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  api.faults.push({ status: 410, reason: 'purchaseTokenNoLongerValid' })
  await report(world, bought.schedulePause())
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  const requestCount = api.purchaseRequests.length
  await advance(world, 31 * DAY)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'expired', active: false }])
  await advance(world, 70 * DAY)
  expect(api.purchaseRequests).toHaveLength(requestCount)
})

test('an app that Google refuses does not delay the purchases of others', async () => {
  await using world = await createPlayWorld()
  const { app } = world
  const { db, stores } = app.services
  const purchases = stores.play?.purchases
  if (!purchases) throw new Error('Google Play is not set up')
  await db.write(async (tx) => {
    for (let at = 0; at < 40; at++) {
      const isRefused = at < 30
      const packageName = isRefused ? 'com.example.refused' : 'com.example.app'
      const about = { purchaseToken: `token-${at}`, packageName, kind: null, productId: null }
      await purchases.enqueue(tx, about, isRefused ? URGENCY.waiting : URGENCY.routine)
    }
  })
  const asked: string[] = []
  const queue = createPlayQueue({
    db,
    purchases,
    refresh: async ({ packageName }) => {
      if (packageName === 'com.example.refused')
        throw new PlayApiError('refused_key', { status: 403 } as never)
      asked.push(packageName)
      return { fault: null } as never
    },
    now: () => app.clock.now,
    log: createLog('silent'),
  })
  await queue.flush()
  expect(asked).toHaveLength(10)
})

test('drops a response if its process was frozen while another process queried Google', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  await report(world, store.buy({ userId }).notification)
  const { db, stores } = app.services
  const { playPurchases } = db.tables
  const read = async () => (await db.read.select().from(playPurchases))[0]
  const lease = async () => stores.play?.queue.leaseOne((await read())?.tokenHash ?? '')
  const frozen = await lease()
  app.clock.advance(2 * MINUTE)
  const later = await lease()
  if (!frozen || !later) throw new Error('the purchase is not free')
  await stores.play?.queue.refreshNow(later)
  const asked = await read()
  app.clock.advance(MINUTE)
  await expect(stores.play?.queue.refreshNow(frozen)).rejects.toMatchObject({ reason: 'busy' })
  expect(await read()).toEqual(asked)
})

test('queries Google again after a notification about an expired purchase', async () => {
  await using world = await createPlayWorld()
  const { api, store, userId } = world
  const bought = store.buy({ userId })
  api.faults.push({ status: 410, reason: 'purchaseTokenNoLongerValid' })
  await report(world, bought.notification)
  await report(world, bought.cancel())
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: false }])
})

test.each([
  [401, 'permissionDenied'],
  [403, 'accessNotConfigured'],
])(
  'while Google refuses the account with %i, the queue waits ten minutes and loses no purchase',
  async (status, reason) => {
    await using world = await createPlayWorld()
    const { app, api, store, userId } = world
    app.expectErrors()
    // A stale access token is renewed once before the account counts as refused.
    const refuse = () => api.faults.push(...Array(status === 401 ? 2 : 1).fill({ status, reason }))
    refuse()
    await report(world, store.buy({ userId }).notification)
    const requestCount = api.purchaseRequests.length
    await report(world, store.buy({ userId }).notification)
    await advance(world, 9 * MINUTE)
    expect(api.purchaseRequests).toHaveLength(requestCount)
    expect(app.services.stores.play?.store.isKeyRefused()).toBe(true)
    refuse()
    refuse()
    await advance(world, MINUTE)
    expect(await world.listSubscriptions()).toEqual([])
    await advance(world, 10 * MINUTE)
    expect(await world.listSubscriptions()).toHaveLength(2)
    const errors = app.lines.filter((line) => line.includes('"level":"error"'))
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain('24 to 48 hours')
    expect(app.services.stores.play?.store.isKeyRefused()).toBe(false)
  },
)

test.each([
  [{ 'retry-after': '300' }, 5],
  [{}, 1],
])(
  'after too many requests the queue waits as long as Retry-After says, or a minute (%j)',
  async (headers, minutes) => {
    await using world = await createPlayWorld()
    const { app, api, store, userId } = world
    app.expectErrors()
    api.faults.push({ status: 429, reason: 'rateLimitExceeded', headers })
    await report(world, store.buy({ userId }).notification)
    await advance(world, minutes * MINUTE - 1000)
    expect(api.purchaseRequests).toHaveLength(1)
    await advance(world, 1000)
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  },
)

test('repeated limits double the pause of the queue', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  app.expectErrors()
  api.faults.push(...Array(4).fill({ status: 429, reason: 'rateLimitExceeded' }))
  await report(world, store.buy().notification)
  const times: number[] = []
  for (let minute = 1; minute <= 20; minute++) {
    const before = api.purchaseRequests.length
    await advance(world, MINUTE)
    if (api.purchaseRequests.length > before) times.push(minute)
  }
  expect(times).toEqual([1, 3, 7, 15])
})

test('an outage at Google delays purchases, but loses none', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  app.expectErrors()
  api.faults.push({ status: 503 }, { status: 500 }, { status: 409 })
  const bought = [store.buy({ userId }), store.buy({ userId, product: 'other' })]
  for (const { notification } of bought) await world.push(notification)
  for (let minute = 0; minute < 15; minute++) await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toHaveLength(2)
})

test('a notification that arrives during a request causes another request', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  api.delayMs = 200
  const requestCount = api.purchaseRequests.length
  await world.push(bought.schedulePause())
  const drained = drain(world)
  await until(() => api.purchaseRequests.length > requestCount, 'Google is not queried')
  // The response under way does not know of the cancellation yet.
  app.clock.advance(1000)
  await world.push(bought.cancel())
  await drained
  await drain(world)
  expect(api.purchaseRequests).toHaveLength(requestCount + 2)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: false }])
  expect(api.maxParallelPerToken).toBe(1)
})

test('Google gets one request about a purchase at a time, whatever causes it', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  api.delayMs = 30
  const bought = store.buy()
  await Promise.all([
    world.submit([bought]),
    world.push(bought.notification),
    world.submit([bought]),
    world.push(bought.schedulePause()),
    drain(world),
  ])
  await drain(world)
  expect(api.maxParallelPerToken).toBe(1)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test.each([
  ['without line items', (purchase: object) => ({ ...purchase, lineItems: [] })],
  ['with an unknown state', (purchase: object) => ({ ...purchase, subscriptionState: 'NEW' })],
  ['that is not an object', () => []],
])('a response %s is recorded as failed, and requested again', async (_name, change) => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  const { answer } = bought
  Object.assign(bought, { answer: () => change(answer()) })
  await report(world, bought.cancel())
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
  expect((await listEvents(world)).at(-1)).toMatchObject({
    type: 'PLAY_UNREADABLE',
    outcome: 'failed',
  })
  Object.assign(bought, { answer })
  await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: false }])
})

test('a response of 5 MB is discarded, and the request is retried', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = store.buy({ userId })
  const { answer } = bought
  Object.assign(bought, { answer: () => ({ ...answer(), note: 'x'.repeat(5_000_000) }) })
  await report(world, bought.notification)
  expect(await world.listSubscriptions()).toEqual([])
  Object.assign(bought, { answer })
  await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('a server that stops during a request repeats it after a restart', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  api.delayMs = 100
  await world.push(store.buy({ userId: world.userId }).notification)
  await until(() => api.purchaseRequests.length > 0, 'Google is not queried')
  await app.restart()
  await app.services.stores.play?.queue.flush()
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})
