import { expect, test } from 'bun:test'
import { signIn } from '../../../support/app-store/world.ts'
import { PACKAGE_NAME, type Submission } from '../../../support/play-store/formats.ts'
import { advance, drain, listEvents, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'
import { until } from '../../../support/until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

test('a submitted purchase is linked immediately, and known when it is submitted again', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  const bought = store.buy()
  const { results, subscription } = await world.submit([bought])
  expect(results).toEqual([
    {
      outcome: 'bound',
      environment: 'production',
      transactionId: bought.purchase.lineItems[0]?.latestSuccessfulOrderId,
      productId: 'pro_month:monthly',
      expiresAt: '2026-10-31T12:00:00.000Z',
    },
  ] as never)
  expect(subscription.subscriptions).toMatchObject([{ status: 'active' }])
  const events = (await listEvents(world)).length
  const requestCount = api.purchaseRequests.length
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'known' }])
  expect([api.purchaseRequests.length, (await listEvents(world)).length]).toEqual([
    requestCount,
    events,
  ])
})

test('queries Google again about a purchase submitted after ten minutes', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  const bought = store.buy()
  await world.submit([bought])
  await advance(world, MINUTE)
  bought.cancel()
  const requestCount = api.purchaseRequests.length
  app.clock.advance(10 * MINUTE)
  const { results, subscription } = await world.submit([bought])
  expect(results).toMatchObject([{ outcome: 'known' }])
  expect(subscription.subscriptions).toMatchObject([{ willRenew: false }])
  expect(api.purchaseRequests.length).toBe(requestCount + 1)
})

test.each(['before', 'after'])(
  'a purchase submitted %s its notification becomes one purchase of its user',
  async (order) => {
    await using world = await createPlayWorld()
    const { app, store } = world
    const bought = store.buy()
    if (order === 'after') await report(world, bought.notification)
    expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'bound' }])
    if (order === 'before') await report(world, bought.notification)
    app.clock.advance(30 * DAY)
    await report(world, bought.renew())
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
  },
)

test('links a purchase that is submitted while the queue refreshes it', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  const bought = store.buy()
  api.delayMs = 200
  await world.push(bought.notification)
  await until(() => api.purchaseRequests.length > 0, 'Google is not queried')
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'bound' }])
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('two users who submit a purchase at the same time do not both get it', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  const other = await app.register()
  const bought = store.buy()
  api.delayMs = 100
  const replies = await Promise.all([
    world.submit([bought]),
    world.submit([bought], false, other.accessToken),
  ])
  const codes = replies.map(({ results }) => results[0]?.code ?? results[0]?.outcome)
  expect(codes.sort()).toEqual(['bound', 'purchase_of_another'])
})

test('an unknown token that is submitted twice at once gets purchase_gone without waiting', async () => {
  await using world = await createPlayWorld()
  const { api } = world
  api.delayMs = 100
  const start = performance.now()
  const unknown = submissionOf('a-token-that-does-not-exist')
  const replies = await Promise.all([world.submit([unknown]), world.submit([unknown])])
  for (const { results } of replies) expect(results).toMatchObject([{ code: 'purchase_gone' }])
  expect(performance.now() - start).toBeLessThan(4_000)
})

test('results are in order, and a bad purchase does not affect the others', async () => {
  await using world = await createPlayWorld()
  const { store } = world
  const { token } = store.buy()
  const otherApp = { ...submissionOf(token), packageName: 'com.example.other' }
  const { results } = await world.submit([
    otherApp,
    submissionOf('a-token-that-does-not-exist'),
    submissionOf('short'),
    store.buyOnce(),
    store.buy({ isPending: true }),
    submissionOf(token),
  ])
  expect(results.map(({ outcome, code }) => code ?? outcome)).toEqual([
    'purchase_of_other_app',
    'purchase_gone',
    'purchase_gone',
    'bound',
    'pending',
    'bound',
  ])
})

test('queries an unknown token once in ten minutes for all users together, without queueing it', async () => {
  await using world = await createPlayWorld()
  const { app, api } = world
  const other = await app.register()
  const unknown = submissionOf('a-token-that-does-not-exist')
  for (const token of [world.token, world.token, other.accessToken]) {
    const { results } = await world.submit([unknown], false, token)
    expect(results).toMatchObject([{ outcome: 'refused', code: 'purchase_gone' }])
  }
  expect(api.purchaseRequests).toHaveLength(3)
  app.clock.advance(10 * MINUTE)
  await drain(world)
  expect(api.purchaseRequests).toHaveLength(3)
  await world.submit([unknown])
  expect(api.purchaseRequests).toHaveLength(6)
})

test('unknown tokens from one network are limited, however many users submit them', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  for (let user = 0; user < 10; user++) {
    const { accessToken } = await app.register(`user${user}@example.com`)
    const tokens = Array.from({ length: 20 }, (_, at) => submissionOf(`unknown-${user}-${at}`))
    await world.submit(tokens, false, accessToken)
  }
  const requestCount = api.purchaseRequests.length
  const json = { purchases: [submissionOf('one-more-unknown-token')] }
  const refused = await app.ask('POST', '/api/user/purchases/v1', { token: world.token, json })
  expect([refused.status, api.purchaseRequests.length]).toEqual([429, requestCount])
  app.clock.advance(HOUR)
  const token = await signIn(app, world.email)
  expect((await world.submit([store.buy()], false, token)).results).toMatchObject([
    { outcome: 'bound' },
  ])
}, 60_000)

test.each([true, false])(
  'an expired purchase is reported as gone after one request (known before: %p)',
  async (isKnown) => {
    await using world = await createPlayWorld()
    const { app, api, store } = world
    const bought = store.buy()
    if (isKnown) await report(world, bought.notification)
    await report(world, bought.revoke())
    if (!isKnown)
      await app.services.db.write((tx) => tx.delete(app.services.db.tables.playPurchases))
    app.clock.advance(61 * DAY)
    const token = await signIn(app, world.email)
    const requestCount = api.purchaseRequests.length
    for (let time = 0; time < 2; time++) {
      const { results } = await world.submit([bought], false, token)
      expect(results).toMatchObject([{ outcome: 'refused', code: 'purchase_gone' }])
    }
    expect(api.purchaseRequests).toHaveLength(requestCount + 1)
  },
)

test('a pending purchase without an account id is linked to its claimant once it is paid', async () => {
  await using world = await createPlayWorld()
  const { store } = world
  const bought = store.buy({ isPending: true })
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'pending' }])
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'pending' }])
  for (let day = 0; day < 6; day++) await advance(world, DAY)
  await report(world, bought.pay())
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test.each([{ kind: 'one_time' }, { packageName: 'com.example.second' }] as const)(
  'a notification corrects a wrong submission (%j)',
  async (mistake) => {
    await using world = await createPlayWorld({
      PLAY_PACKAGES: `${PACKAGE_NAME},com.example.second`,
    })
    const { app, api, store, userId } = world
    app.expectErrors()
    api.faults.push({ status: 503 })
    const bought = store.buy({ userId })
    await world.submit([{ ...bought.submission(), ...mistake }])
    await drain(world)
    for (let minute = 0; minute < 12; minute++) await advance(world, MINUTE)
    await report(world, bought.notification)
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
    app.clock.advance(11 * MINUTE)
    const token = await signIn(app, world.email)
    await world.submit([{ ...bought.submission(), ...mistake }], false, token)
    app.clock.advance(1)
    await report(world, bought.cancel())
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: false }])
  },
)

test('a purchase refused as unknown can be submitted again right after its notification', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  const bought = store.buy()
  api.faults.push({ status: 404, reason: 'purchaseTokenNotFound' })
  expect((await world.submit([bought])).results).toMatchObject([{ code: 'purchase_gone' }])
  await report(world, bought.notification)
  // The claim was waiting for the notification.
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'known' }])
})

test('a notification that arrives while a submission is refused is not lost', async () => {
  await using world = await createPlayWorld()
  const { api, store, userId } = world
  const bought = store.buy({ userId })
  api.faults.push({ status: 404, reason: 'purchaseTokenNotFound' })
  api.delayMs = 100
  const submitted = world.submit([bought])
  await until(() => api.purchaseRequests.length > 0, 'Google is not queried')
  await world.push(bought.notification)
  await submitted
  await drain(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test.each([
  ['unreachable', { status: 503 }, MINUTE],
  ['limiting requests', { status: 429, reason: 'rateLimitExceeded' }, 10 * MINUTE],
  ['refusing the account', { status: 403, reason: 'accessNotConfigured' }, 10 * MINUTE],
])(
  'while Google is %s, a submitted purchase is being checked, and is linked later',
  async (_name, fault, ms) => {
    await using world = await createPlayWorld()
    const { app, api, store } = world
    app.expectErrors()
    api.faults.push(...Array(2).fill(fault))
    const bought = store.buy()
    const { results, subscription } = await world.submit([bought])
    expect(results).toMatchObject([{ outcome: 'checking' }])
    expect(subscription.subscriptions).toEqual([])
    await drain(world)
    for (let time = 0; time < 3; time++) await advance(world, ms)
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
    app.clock.advance(30 * DAY)
    await report(world, bought.renew())
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
  },
)

test('a claim that waits longer than 72 hours is dropped', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  app.expectErrors()
  api.faults.push(...Array(2).fill({ status: 503 }))
  await world.submit([store.buy()])
  await drain(world)
  await advance(world, 73 * HOUR)
  expect(await world.listSubscriptions()).toEqual([])
})

test('a failed acknowledgement does not affect the result', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  app.expectErrors()
  for (const status of [500, 400]) {
    const bought = store.buy()
    api.faults.push(null, { status, reason: 'invalid' })
    expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'bound' }])
    await advance(world, 2 * MINUTE)
    expect(bought.purchase.acknowledgementState).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED')
  }
})

function submissionOf(purchaseToken: string): Submission {
  const [store, kind] = ['play_store', 'subscription'] as const
  return { store, packageName: PACKAGE_NAME, purchaseToken, productId: 'pro_month', kind }
}
