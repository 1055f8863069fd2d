import { expect, test } from 'bun:test'
import { advance, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR

test('a pending purchase gives no access until it is paid', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = store.buy({ userId, isPending: true })
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'pending' }])
  await advance(world, HOUR)
  expect(await world.listSubscriptions()).toEqual([])
  await report(world, bought.pay())
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('a pending purchase that is cancelled never gives access', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const subscription = store.buy({ userId, isPending: true })
  const product = store.buyOnce({ userId, isPending: true })
  await world.submit([subscription, product])
  await advance(world, 2 * DAY)
  await report(world, subscription.giveUp(), product.giveUp())
  await advance(world, 2 * DAY)
  expect(await world.listSubscriptions()).toEqual([])
})

test('a purchase by a license tester counts in the sandbox only', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = [store.buy({ userId, isTest: true }), store.buyOnce({ userId, isTest: true })]
  for (const { notification } of bought) await report(world, notification)
  expect(await world.listSubscriptions()).toEqual([])
  expect(await world.listSubscriptions('sandbox')).toHaveLength(2)
})

test('with BILLING_SANDBOX=ignore the purchase of a license tester has no effect', async () => {
  await using world = await createPlayWorld({ BILLING_SANDBOX: 'ignore' })
  const { store, userId } = world
  const bought = store.buy({ userId, isTest: true })
  expect((await world.submit([bought])).results).toMatchObject([
    { outcome: 'refused', code: 'sandbox_ignored', environment: 'sandbox' },
  ])
  await report(world, bought.notification)
  expect(await world.listSubscriptions('sandbox')).toEqual([])
})
