import { expect, test } from 'bun:test'
import { parseReply } from '../../../../src/features/stores/google/api/answer.ts'
import { PACKAGE_NAME } from '../../../support/play-store/formats.ts'
import { advance, listEvents, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

test.each([true, false])(
  'a one-time product gives access until it is refunded (productsv2: %p)',
  async (hasProductsV2) => {
    await using world = await createPlayWorld()
    const { app, api, store, userId } = world
    api.hasProductsV2 = hasProductsV2
    const at = app.clock.now.toISOString()
    const bought = store.buyOnce({ userId, product: 'lifetime' })
    await report(world, bought.notification)
    const [found] = await world.listSubscriptions()
    expect(found).toMatchObject({
      status: 'active',
      productId: 'lifetime',
      purchasedAt: at,
      expiresAt: null,
      willRenew: false,
    })
    expect(bought.answer().acknowledgementState).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED')
    await advance(world, 2 * DAY)
    await report(world, bought.refund())
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
    expect(api.purchaseRequests.some(({ request }) => request === 'GET products')).toBe(
      !hasProductsV2,
    )
    expect((await listEvents(world)).filter(({ outcome }) => outcome === 'failed')).toEqual([])
  },
)

test.each([true, false])(
  'a consumed product has an owner and gives no access (productsv2: %p)',
  async (hasProductsV2) => {
    await using world = await createPlayWorld()
    const { api, store } = world
    api.hasProductsV2 = hasProductsV2
    const bought = store.buyOnce()
    bought.consume()
    const first = await world.submit([bought])
    expect(first.results).toMatchObject([{ outcome: 'bound', productId: 'coins' }])
    expect(first.subscription.subscriptions).toMatchObject([{ status: 'consumed' }])
    expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'known' }])
    expect(await world.listSubscriptions()).toMatchObject([{ active: false }])
  },
)

test.each([
  ['two minutes', 0],
  ['an hour', 10 * MINUTE],
  ['a day', 10 * HOUR],
])('detects within %s that the app has consumed a product', async (_name, consumedAfter) => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buyOnce({ userId })
  await report(world, bought.notification)
  const consumedAt = app.clock.now.getTime() + consumedAfter
  for (const delay of [2 * MINUTE, HOUR, DAY]) {
    const isConsumed = app.clock.now.getTime() >= consumedAt
    if (isConsumed) bought.consume()
    await advance(world, delay)
    const status = isConsumed ? 'consumed' : 'active'
    expect(await world.listSubscriptions()).toMatchObject([{ status, active: !isConsumed }])
  }
})

test('frequent sales of coins are not listed as paid without access', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const buyAndConsume = async () => {
    const bought = store.buyOnce({ userId })
    await report(world, bought.notification)
    bought.consume()
  }
  for (let minute = 0; minute < 5; minute++) {
    await buyAndConsume()
    await advance(world, MINUTE)
  }
  expect(await app.services.listUnmatched()).toEqual([])
  await buyAndConsume()
  expect(await app.services.listUnmatched()).toEqual([])
})

test('a product that is not consumed is listed as paid without access', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  for (const hours of [0, 1, 48]) {
    await report(world, store.buyOnce({ userId, product: 'lifetime' }).notification)
    await advance(world, hours * HOUR)
    expect(await app.services.listUnmatched()).toMatchObject([{ productId: 'lifetime', lines: 1 }])
  }
})

test('a token submitted without its kind may be a subscription or a product', async () => {
  await using world = await createPlayWorld()
  const { store } = world
  const purchases = [store.buy(), store.buyOnce()].map(({ token }) => ({
    store: 'play_store',
    packageName: PACKAGE_NAME,
    purchaseToken: token,
  }))
  const { results } = await world.submit(purchases as never[])
  expect(results).toMatchObject([
    { outcome: 'bound', productId: 'pro_month:monthly' },
    { outcome: 'bound', productId: 'coins' },
  ])
})

test('reads a response from the older call without times', async () => {
  await using world = await createPlayWorld()
  const { api, store, userId } = world
  api.hasProductsV2 = false
  const bought = store.buyOnce({ userId })
  const { purchaseTimeMillis: _time, ...answer } = bought.olderAnswer()
  Object.assign(bought, { olderAnswer: () => answer })
  await report(world, bought.notification)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', productId: 'coins' }])
})

test('a product that is paid for later gives access from then on', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buyOnce({ userId, isPending: true })
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'pending' }])
  app.clock.advance(HOUR)
  const at = app.clock.now.toISOString()
  await report(world, bought.pay())
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', purchasedAt: at }])
})

test('a rented product gives access for the duration of its plan', () => {
  const answer = parseReply('one_time', {
    productLineItem: [{ productId: 'film', productOfferDetails: { rentOfferDetails: {} } }],
    purchaseStateContext: { purchaseState: 'PURCHASED' },
    orderId: 'GPA.1-2-3-4',
  })
  expect(answer.items).toMatchObject([{ productId: 'film', periodType: 'PREPAID' }])
})
