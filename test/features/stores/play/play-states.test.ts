import { expect, test } from 'bun:test'
import { advance, catchUp, drain, listEvents, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const START = Date.parse('2026-10-01T12:00:00Z')

const onDay = (day: number) => new Date(START + day * DAY).toISOString()

test('a subscription renews, is cancelled, is restored and expires', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  expect(await world.listSubscriptions()).toMatchObject([
    { purchasedAt: onDay(0), expiresAt: onDay(30), willRenew: true, periodType: 'NORMAL' },
  ])
  await advanceTo(30)
  await report(world, bought.renew())
  expect(await world.listSubscriptions()).toMatchObject([
    { purchasedAt: onDay(30), expiresAt: onDay(60), willRenew: true },
  ])
  await advanceTo(40)
  await report(world, bought.cancel())
  expect(await world.listSubscriptions()).toMatchObject([
    {
      status: 'active',
      willRenew: false,
      cancelReason: 'UNSUBSCRIBE',
      unsubscribeDetectedAt: onDay(40),
    },
  ])
  await advanceTo(41)
  await report(world, bought.restore())
  const [restored] = await world.listSubscriptions()
  expect(restored).toMatchObject({ status: 'active', willRenew: true })
  expect(restored).not.toHaveProperty('unsubscribeDetectedAt')
  expect(restored).not.toHaveProperty('cancelReason')
  await advanceTo(42)
  await report(world, bought.cancel('developer'))
  expect(await world.listSubscriptions()).toMatchObject([{ cancelReason: 'DEVELOPER_INITIATED' }])
  await advanceTo(60)
  await report(world, bought.expire())
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'expired', active: false, effectiveEndAt: onDay(60), willRenew: false },
  ])
  expect(await listEventTypes()).toEqual([
    'INITIAL_PURCHASE',
    'RENEWAL',
    'CANCELLATION',
    'UNCANCELLATION',
    'CANCELLATION',
    'EXPIRATION',
  ])

  async function advanceTo(day: number) {
    world.app.clock.now = new Date(START + day * DAY)
  }

  /** Without the acknowledgement and the checks in between, which changed nothing for the user. */
  async function listEventTypes() {
    const types = (await listEvents(world)).map(({ type }) => type)
    return types.filter((type) => !type.startsWith('PLAY_') && type !== 'HOMEPORT_RECONCILED')
  }
})

test('a failed payment keeps access until the end of the grace period', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = new Date(START + 30 * DAY)
  await report(world, bought.failToRenew(7))
  const inGrace = {
    status: 'in_grace_period',
    active: true,
    expiresAt: onDay(30),
    effectiveEndAt: onDay(37),
    billingIssueDetectedAt: onDay(30),
  }
  expect(await world.listSubscriptions()).toMatchObject([inGrace])
  await advance(world, 2 * DAY)
  await report(world, bought.notification)
  expect(await world.listSubscriptions()).toMatchObject([inGrace])
  app.clock.now = new Date(START + 35 * DAY)
  await report(world, bought.renew())
  const [renewed] = await world.listSubscriptions()
  expect(renewed).toMatchObject({
    status: 'active',
    purchasedAt: onDay(30),
    expiresAt: onDay(60),
    effectiveEndAt: onDay(60),
  })
  expect(renewed).not.toHaveProperty('billingIssueDetectedAt')
})

test('account hold ends access, and a recovery starts a new period', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = new Date(START + 30 * DAY)
  await report(world, bought.failToRenew(7))
  app.clock.now = new Date(START + 37 * DAY)
  await report(world, bought.hold())
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'expired', active: false, billingIssueDetectedAt: onDay(30) },
  ])
  app.clock.now = new Date(START + 45 * DAY)
  await report(world, bought.renew())
  const [recovered] = await world.listSubscriptions()
  expect(recovered).toMatchObject({
    status: 'active',
    purchasedAt: onDay(45),
    expiresAt: onDay(75),
  })
  expect(recovered).not.toHaveProperty('billingIssueDetectedAt')
})

test('a scheduled pause changes nothing, a pause ends access, and resuming restores it', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await report(world, bought.schedulePause())
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
  app.clock.now = new Date(START + 30 * DAY)
  await report(world, bought.pause(20))
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'paused', active: false, autoResumeAt: onDay(50) },
  ])
  app.clock.now = new Date(START + 50 * DAY)
  await report(world, bought.resume())
  const [resumed] = await world.listSubscriptions()
  expect(resumed).toMatchObject({ status: 'active', purchasedAt: onDay(50), expiresAt: onDay(80) })
  expect(resumed).not.toHaveProperty('autoResumeAt')
})

test('finds the end of a pause without a notification', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = new Date(START + 30 * DAY)
  await report(world, bought.pause(5))
  app.clock.now = new Date(START + 35 * DAY)
  bought.resume()
  await advance(world, 11 * MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('a trial becomes a normal period when it renews', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId, trialDays: 7 })
  await report(world, bought.notification)
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'trialing', periodType: 'TRIAL', expiresAt: onDay(7) },
  ])
  app.clock.now = new Date(START + 7 * DAY)
  await report(world, bought.renew())
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'active', periodType: 'NORMAL', expiresAt: onDay(37) },
  ])
})

test('a prepaid plan does not renew, and has no grace period', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId, isPrepaid: true })
  await report(world, bought.notification)
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'active', periodType: 'PREPAID', willRenew: false, expiresAt: onDay(30) },
  ])
  app.clock.now = new Date(START + 30 * DAY)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'expired', active: false }])
})

test('a subscription can be extended', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await report(world, bought.extend(10))
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'active', purchasedAt: onDay(0), expiresAt: onDay(40), willRenew: true },
  ])
  expect((await listEvents(world)).map(({ type }) => type)).toContain('SUBSCRIPTION_EXTENDED')
})

test('a revoked subscription ends immediately, and is not refunded', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = new Date(START + 3 * DAY)
  await report(world, bought.revoke())
  await catchUp(world)
  const [revoked] = await world.listSubscriptions()
  expect(revoked).toMatchObject({ status: 'expired', active: false, effectiveEndAt: onDay(3) })
  expect(revoked).not.toHaveProperty('refundedAt')
})

test('detects an unreported renewal ten minutes after the period ends', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = new Date(START + 29 * DAY)
  await drain(world)
  const requestCount = api.purchaseRequests.length
  app.clock.now = new Date(START + 30 * DAY)
  bought.renew()
  await advance(world, 9 * MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'active', expiresAt: onDay(30) },
  ])
  expect(api.purchaseRequests).toHaveLength(requestCount)
  await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'active', expiresAt: onDay(60) },
  ])
})

test('Google’s silent grace period after a failed payment does not interrupt access', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = new Date(START + 30 * DAY)
  // Google sends no notification, and moves the end once it is queried.
  for (let minute = 0; minute < 9; minute++) await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active', active: true }])
  bought.record.setPeriodEnd(START + 31 * DAY)
  for (const item of bought.purchase.lineItems) item.expiryTime = onDay(31)
  await advance(world, 2 * MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'active', expiresAt: onDay(31) },
  ])
})

test('an account hold after a grace period ends access at the end of the grace period', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  app.clock.now = new Date(START + 30 * DAY)
  await report(world, bought.failToRenew(14))
  app.clock.now = new Date(START + 44 * DAY)
  await report(world, bought.hold())
  expect(await world.listSubscriptions()).toMatchObject([
    { active: false, effectiveEndAt: onDay(44), expiresAt: onDay(30) },
  ])
})
