import { expect, test } from 'bun:test'
import { runCommand } from '../../../support/commands.ts'
import { PACKAGE_NAME } from '../../../support/play-store/formats.ts'
import { advance, catchUp, listEvents, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

test.each(['notification', 'list'])('a refund that a %s reports ends access', async (source) => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.advance(DAY)
  const at = app.clock.now.toISOString()
  const notifications = bought.refund()
  app.clock.advance(MINUTE)
  if (source === 'notification') await report(world, ...notifications)
  else await catchUp(world)
  const refunded = { status: 'refunded', active: false, refundedAt: at, effectiveEndAt: at }
  expect(await world.listSubscriptions()).toMatchObject([refunded])
  await advance(world, DAY)
  await report(world, bought.notification)
  await catchUp(world)
  expect(await world.listSubscriptions()).toMatchObject([refunded])
})

test('a refund that the notification and the list report is recorded once', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await report(world, ...bought.refund())
  expect(await catchUp(world)).toBe(1)
  expect(await catchUp(world)).toBe(1)
  const refunds = (await listEvents(world)).filter(({ type }) => type === 'REFUND')
  expect(refunds).toHaveLength(1)
})

test('a refund without a revocation ends access, even while Google reports the purchase as active', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.advance(DAY)
  const { answer } = bought
  const before = answer()
  const [refund] = bought.refund()
  Object.assign(bought, { answer: () => before })
  await report(world, refund ?? null)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
  await advance(world, 8 * DAY)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
})

test.each(['notification', 'list'])(
  'a refund of an earlier order that a %s reports does not end access',
  async (source) => {
    await using world = await createPlayWorld()
    const { app, store, userId } = world
    const bought = store.buy({ userId })
    await report(world, bought.notification)
    app.clock.advance(30 * DAY)
    await report(world, bought.renew())
    app.clock.advance(DAY)
    const refund = bought.refundEarlier()
    if (source === 'notification') await report(world, refund)
    else expect(await catchUp(world)).toBe(1)
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
    app.clock.advance(29 * DAY)
    await report(world, bought.renew())
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
  },
)

test.each([true, false])(
  'the refund of an unknown purchase is recorded once the purchase is known (revoked: %p)',
  async (isRevoked) => {
    await using world = await createPlayWorld()
    const { app, store, userId } = world
    const bought = store.buy({ userId })
    const { answer } = bought
    const before = answer()
    app.clock.advance(HOUR)
    bought.refund()
    if (!isRevoked) Object.assign(bought, { answer: () => before })
    app.clock.advance(HOUR)
    await catchUp(world)
    await advance(world, MINUTE)
    await advance(world, 6 * HOUR)
    await catchUp(world)
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
    await checkRebuild(world)
  },
)

test('a refund listed after the renewal gives the same result as a rebuild', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.advance(30 * DAY)
  bought.renew()
  bought.refundEarlier()
  app.clock.advance(MINUTE)
  await report(world, bought.schedulePause())
  await catchUp(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  await checkRebuild(world)
})

test('the list of refunds has pages, and each run begins a day before the last one', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = Array.from({ length: 7 }, () => store.buyOnce({ userId }))
  for (const { notification } of bought) await report(world, notification)
  for (const one of bought) one.refund()
  expect(await catchUp(world)).toBe(7)
  const found = await world.listSubscriptions()
  expect(new Set(found.map(({ status }) => status))).toEqual(new Set(['refunded']))
  app.clock.advance(2 * DAY)
  expect(await catchUp(world)).toBe(7)
  app.clock.advance(HOUR)
  expect(await catchUp(world)).toBe(0)
})

test('a list of refunds that fails in the middle is read from its beginning again', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  const bought = Array.from({ length: 5 }, () => store.buyOnce({ userId }))
  for (const { notification } of bought) await report(world, notification)
  for (const one of bought) one.refund()
  api.faults.push(null, { status: 500 })
  expect(await catchUp(world).catch((error) => error.message)).toBe('Google is busy. (500)')
  app.clock.advance(3 * DAY)
  expect(await catchUp(world)).toBe(5)
})

test('refunds of an app are read even if Google refuses the account for another app', async () => {
  await using world = await createPlayWorld({ PLAY_PACKAGES: `com.example.other,${PACKAGE_NAME}` })
  const { api, store, userId } = world
  const bought = store.buyOnce({ userId })
  await report(world, bought.notification)
  bought.refund()
  api.faults.push({ status: 403, reason: 'forbidden' })
  expect(await catchUp(world).catch((error) => error.reason)).toBe('refused_key')
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded' }])
})

test('reads thirty days of refunds after a long downtime', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buyOnce({ userId })
  await report(world, bought.notification)
  await catchUp(world)
  app.clock.advance(40 * DAY)
  bought.refund()
  app.clock.advance(29 * DAY)
  expect(await catchUp(world)).toBe(1)
})

test('a partial refund is recorded but does not end access', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buyOnce({ userId, quantity: 3 })
  await report(world, bought.notification)
  app.clock.advance(HOUR)
  await report(world, bought.refundPart())
  await catchUp(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
  const partial = (await listEvents(world)).filter(({ type }) => type === 'PLAY_PARTIAL_REFUND')
  expect(partial).toMatchObject([{ outcome: 'ignored' }])
  app.clock.advance(HOUR)
  await report(world, bought.refund())
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
})

test('a refund that only the list reports ends a partly refunded purchase', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buyOnce({ userId, quantity: 3 })
  await report(world, bought.notification)
  app.clock.advance(2 * DAY)
  await report(world, bought.refundPart())
  await advance(world, DAY)
  bought.refund()
  app.clock.advance(MINUTE)
  await catchUp(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded', active: false }])
})

/** Checks that folding all events again changes nothing. */
async function checkRebuild({ app }: Awaited<ReturnType<typeof createPlayWorld>>) {
  expect((await runCommand(app, 'events rebuild')).outcome.changed).toEqual([])
}
