import { expect, test } from 'bun:test'
import { listSubscriptions } from '../../../support/app-store/world.ts'
import { advance, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const START = Date.parse('2026-10-01T12:00:00Z')

const onDay = (day: number) => new Date(START + day * DAY)

test('a deferred change is announced, and takes effect in the same purchase', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId, product: 'gold' })
  await report(world, bought.notification)
  app.clock.now = onDay(10)
  await report(world, bought.changeProduct('silver', 'deferred'))
  const announced = await world.listSubscriptions()
  expect(announced).toHaveLength(1)
  expect(announced).toMatchObject([
    { productId: 'gold:monthly', pendingProductId: 'silver:monthly', status: 'active' },
  ])
  app.clock.now = onDay(30)
  await report(world, bought.renew())
  const changed = await world.listSubscriptions()
  expect(changed).toHaveLength(1)
  expect(changed).toMatchObject([
    { productId: 'silver:monthly', status: 'active', purchasedAt: onDay(30).toISOString() },
  ])
  expect(changed[0]).not.toHaveProperty('pendingProductId')
})

test.each([['the new'], ['the old']])(
  'after an immediate change only the new purchase gives access, with %s one reported first',
  async (first) => {
    await using world = await createPlayWorld()
    const { app, store, userId } = world
    const bought = store.buy({ userId, product: 'silver' })
    await report(world, bought.notification)
    app.clock.now = onDay(10)
    const next = bought.changeProduct('gold', 'immediate')
    const notifications = [next.notification, next.replacedNotification]
    await report(world, ...(first === 'the new' ? notifications : notifications.toReversed()))
    expect(await world.listSubscriptions()).toMatchObject([
      { productId: 'gold:monthly', status: 'active', active: true },
      { productId: 'silver:monthly', status: 'expired', active: false, willRenew: false },
    ])
  },
)

test('queries a replaced purchase even without a notification about it', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId, product: 'silver' })
  await report(world, bought.notification)
  app.clock.now = onDay(10)
  await report(world, bought.changeProduct('gold', 'immediate').notification)
  expect(await world.listSubscriptions()).toMatchObject([{ active: true }, { active: false }])
})

test('only the newest of a chain of purchases gives access if only the last is reported', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  const first = store.buy({ userId, product: 'bronze' })
  app.clock.now = onDay(1)
  const second = first.changeProduct('silver', 'immediate')
  app.clock.now = onDay(2)
  const third = second.changeProduct('gold', 'immediate')
  await report(world, third.notification)
  for (let minute = 0; minute < 5; minute++) await advance(world, MINUTE)
  const found = await world.listSubscriptions()
  expect(found.map(({ productId, active }) => [productId, active])).toEqual([
    ['gold:monthly', true],
    ['silver:monthly', false],
    ['bronze:monthly', false],
  ])
  const reads = api.purchaseRequests.filter(({ request }) => request === 'GET subscriptionsv2')
  expect(reads).toHaveLength(3)
})

test('purchases that name each other as predecessors do not cause endless requests', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  const first = store.buy({ userId, product: 'silver' })
  app.clock.now = onDay(1)
  const second = first.changeProduct('gold', 'immediate')
  first.purchase.linkedPurchaseToken = second.token
  await report(world, second.notification)
  for (let minute = 0; minute < 30; minute++) await advance(world, MINUTE)
  expect(
    api.purchaseRequests.filter(({ request }) => request === 'GET subscriptionsv2').length,
  ).toBeLessThan(5)
  expect((await world.listSubscriptions()).map(({ active }) => active)).toEqual([true, false])
})

test.each([true, false])(
  'a new purchase without an account id belongs to the owner of the one it replaces (known before: %p)',
  async (isKnown) => {
    await using world = await createPlayWorld()
    const { app, store, userId } = world
    const bought = store.buy({ userId, product: 'silver' })
    if (isKnown) await report(world, bought.notification)
    app.clock.now = onDay(10)
    const next = bought.changeProduct('gold', 'immediate')
    delete next.purchase.externalAccountIdentifiers
    await report(world, next.notification)
    for (let minute = 0; minute < 5; minute++) await advance(world, MINUTE)
    expect(await world.listSubscriptions()).toMatchObject([
      { productId: 'gold:monthly', active: true },
      { productId: 'silver:monthly', active: false },
    ])
  },
)

test('a new purchase belongs to the user who has claimed the one it replaces', async () => {
  await using world = await createPlayWorld()
  const { app, store } = world
  const bought = store.buy({ product: 'silver' })
  await world.submit([bought])
  app.clock.now = onDay(10)
  const next = bought.changeProduct('gold', 'immediate')
  await report(world, next.notification)
  expect(await world.listSubscriptions()).toMatchObject([{ productId: 'gold:monthly' }, {}])
})

test.each([true, false])(
  'a resubscription in the Play Store belongs to the former owner, whose id is sent to Google (linked: %p)',
  async (isLinked) => {
    await using world = await createPlayWorld()
    const { app, store, userId } = world
    const bought = store.buy({ userId })
    await report(world, bought.notification)
    app.clock.now = onDay(30)
    await report(world, bought.expire())
    app.clock.now = onDay(40)
    const again = bought.resubscribe({ isLinked })
    await report(world, again.notification)
    expect(again.purchase.externalAccountIdentifiers).toEqual({
      obfuscatedExternalAccountId: userId,
    })
    app.clock.now = onDay(70)
    await report(world, again.renew())
    expect(await world.listSubscriptions()).toMatchObject([
      { status: 'active', expiresAt: onDay(100).toISOString() },
      { status: 'expired' },
    ])
  },
)

test.each([true, false])(
  'a resubscription in the Play Store belongs to the user who has claimed the former purchase (linked: %p)',
  async (isLinked) => {
    await using world = await createPlayWorld()
    const { app, store, userId } = world
    const bought = store.buy()
    await world.submit([bought])
    app.clock.now = onDay(30)
    await report(world, bought.expire())
    app.clock.now = onDay(40)
    const again = bought.resubscribe({ isLinked })
    await report(world, again.notification)
    expect(again.purchase.externalAccountIdentifiers).toEqual({
      obfuscatedExternalAccountId: userId,
    })
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }, {}])
  },
)

test('a resubscription belongs to the owner of the first purchase, even if those in between were never reported', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  app.clock.now = onDay(30)
  bought.expire()
  const second = bought.resubscribe({ isLinked: false })
  app.clock.now = onDay(31)
  second.revoke()
  const third = second.resubscribe({ isLinked: false })
  await report(world, third.notification)
  for (let minute = 0; minute < 5; minute++) await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }, {}, {}])
  expect(third.purchase.externalAccountIdentifiers).toEqual({ obfuscatedExternalAccountId: userId })
})

test('an add-on is a separate purchase, and ends when it is removed', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = onDay(5)
  await report(world, bought.addItem('addon'))
  expect((await world.listSubscriptions()).map(({ productId }) => productId).toSorted()).toEqual([
    'addon:monthly',
    'pro_month:monthly',
  ])
  const { purchaseSearch } = app.services.stores
  const { purchases } = await purchaseSearch.listForUser(userId, { limit: 10 })
  for (const { transactionId } of purchases) {
    const found = await purchaseSearch.find(transactionId)
    expect(found.map((one) => one.transactionId)).toContain(transactionId)
  }
  app.clock.now = onDay(8)
  await report(world, bought.removeItem('addon'))
  expect(await world.listSubscriptions()).toMatchObject([
    { productId: 'pro_month:monthly', active: true, willRenew: true },
    { productId: 'addon:monthly', active: false, effectiveEndAt: onDay(8).toISOString() },
  ])
  app.clock.now = onDay(30)
  await report(world, bought.renew())
  expect((await world.listSubscriptions()).map(({ active }) => active)).toEqual([true, false])
  app.clock.now = onDay(31)
  await report(world, bought.addItem('addon'))
  expect((await world.listSubscriptions()).map(({ active }) => active)).toEqual([true, true])
})

test('an add-on that is removed during its trial stays a trial', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  const added = bought.addItem('addon')
  Object.assign(bought.purchase.lineItems[1] ?? {}, { offerPhase: { freeTrial: {} } })
  await report(world, added)
  app.clock.now = onDay(4)
  await report(world, bought.removeItem('addon'))
  expect(await world.listSubscriptions()).toMatchObject([
    { productId: 'pro_month:monthly', periodType: 'NORMAL' },
    { productId: 'addon:monthly', periodType: 'TRIAL', active: false },
  ])
})

test('a resubscription belongs to the user who took over the former purchase, even if Google names another', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = onDay(2)
  const other = await app.register()
  await world.submit([bought], true, other.accessToken)
  app.clock.now = onDay(30)
  await report(world, bought.expire())
  app.clock.now = onDay(40)
  const again = bought.resubscribe()
  await report(world, again.notification)
  expect(await listSubscriptions(app, other.user._id)).toMatchObject([{ status: 'active' }, {}])
  const { events } = await app.services.eventSearch.find({ user: other.user._id })
  const [newest] = events
  const shown = newest && (await app.services.eventSearch.show(newest.eventId))
  expect(JSON.stringify(shown)).not.toContain(userId)
  expect(again.purchase.externalAccountIdentifiers).toEqual({
    obfuscatedExternalAccountId: other.user._id,
  })
})

test('an add-on renews with its purchase', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  bought.addItem('addon')
  await report(world, bought.notification)
  app.clock.now = onDay(30)
  await report(world, bought.renew())
  const end = onDay(60).toISOString()
  expect(await world.listSubscriptions()).toMatchObject([
    { active: true, expiresAt: end },
    { active: true, expiresAt: end },
  ])
})

test('an add-on continues when the first product is removed', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await report(world, bought.addItem('addon'))
  app.clock.now = onDay(5)
  await report(world, bought.removeItem('pro_month'))
  app.clock.now = onDay(30)
  await report(world, bought.renew())
  expect(await world.listSubscriptions()).toMatchObject([
    { productId: 'addon:monthly', active: true, expiresAt: onDay(60).toISOString() },
    { productId: 'pro_month:monthly', active: false },
  ])
})

test('a deferred change between base plans of a product is announced', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = store.buy({ userId, product: 'pro' })
  await report(world, bought.notification)
  const notification = bought.changeProduct('pro', 'deferred')
  const next = bought.purchase.lineItems[1] as unknown as { offerDetails: { basePlanId: string } }
  next.offerDetails.basePlanId = 'yearly'
  await report(world, notification)
  expect(await world.listSubscriptions()).toMatchObject([
    { productId: 'pro:monthly', pendingProductId: 'pro:yearly' },
  ])
})
