import { expect, test } from 'bun:test'
import { drain, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'
import { until } from '../../../support/until.ts'

type World = Awaited<ReturnType<typeof createPlayWorld>>

const MINUTE = 60_000
const HOUR = 60 * MINUTE

test('retries an active purchase that Google does not find, for example while the account has no access', async () => {
  await using world = await createPlayWorld()
  const bought = await buy(world)
  world.app.clock.now = new Date('2026-10-20T12:00:00Z')
  for (let time = 0; time < 4; time++) {
    world.api.faults.push({ status: 404, reason: 'applicationNotFound' })
    await drain(world)
    world.app.clock.advance(9 * MINUTE)
  }
  world.api.faults.length = 0
  world.app.clock.now = new Date('2026-10-31T12:00:00Z')
  bought.renew()
  world.app.clock.advance(4 * HOUR)
  await drain(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('a notification restores the lost token of a purchase', async () => {
  await using world = await createPlayWorld()
  const bought = await buy(world)
  const { db } = world.app.services
  const { playPurchases } = db.tables
  await db.write((tx) => tx.update(playPurchases).set({ sealedToken: '' }))
  world.app.clock.now = new Date('2026-10-31T12:00:00Z')
  await report(world, bought.renew())
  world.app.clock.advance(4 * HOUR)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  expect(await db.read.$count(playPurchases)).toBe(1)
})

test('queries Google again if a notification arrives while the purchase is reported unknown for the last time', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  const bought = store.buy({ userId: world.userId })
  const unknown = { status: 404, reason: 'purchaseTokenNotFound' }
  api.faults.push(unknown, unknown, unknown)
  await report(world, bought.notification)
  for (let time = 0; time < 2; time++) {
    app.clock.advance(9 * MINUTE)
    api.delayMs = time * 100
    const requestCount = api.purchaseRequests.length
    const draining = drain(world)
    await until(() => api.purchaseRequests.length > requestCount, 'Google is not queried')
    if (time === 1) await world.push(bought.cancel())
    await draining
  }
  await drain(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

async function buy(world: World) {
  const bought = world.store.buy({ userId: world.userId })
  await report(world, bought.notification)
  await world.submit([bought])
  // A submission also starts the queue, in the background.
  await drain(world)
  return bought
}
