import { expect, test } from 'bun:test'
import { advance, catchUp, drain, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

test.each([12 * 60 * MINUTE, 365 * DAY])(
  'queries Google about every purchase again after the clock was %d ms ahead',
  async (ahead) => {
    await using world = await createPlayWorld()
    const { app, store, api, userId } = world
    app.expectErrors()
    const submitted = store.buy({ userId })
    app.clock.advance(ahead)
    api.isDown = true
    const { accessToken } = await app.register()
    await world.submit([submitted], false, accessToken)
    await drain(world)
    app.clock.advance(-ahead)
    api.isDown = false
    await report(world, store.buy({ userId }).notification)
    await drain(world)
    expect(await countAsked()).toBe(1)
    await app.services.stores.play?.queue.repair()
    await advance(world, 20 * MINUTE)
    expect(await countAsked()).toBe(2)

    async function countAsked() {
      const { db } = app.services
      const rows = await db.read.select().from(db.tables.playPurchases)
      return rows.filter(({ askedAt }) => askedAt !== null).length
    }
  },
)

test('a revocation counts even if the clock was four minutes ahead at the last response', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  app.clock.advance(4 * MINUTE)
  await report(world, bought.notification)
  app.clock.advance(-4 * MINUTE)
  await report(world, bought.revoke())
  expect(await world.listSubscriptions()).toMatchObject([{ active: false }])
  await app.services.rebuildBilling(AbortSignal.timeout(5_000))
  expect(await world.listSubscriptions()).toMatchObject([{ active: false }])
})

test('refunds are listed again after the clock was 20 days ahead', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId, periodMs: 365 * DAY })
  await report(world, bought.notification)
  app.clock.advance(20 * DAY)
  await catchUp(world)
  app.clock.advance(-19 * DAY)
  bought.refund()
  app.clock.advance(DAY)
  await catchUp(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'refunded' }])
})
