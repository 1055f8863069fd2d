import { expect, test } from 'bun:test'
import { createWorld, deliver } from '../../support/app-store/world.ts'
import { setStoredDuration } from '../../support/plans.ts'

test.each([
  ['bananas', '2026-10-01T12:00:00.000Z', 'expired'],
  ['P1M', '2026-11-01T12:00:00.000Z', 'active'],
  ['lifetime', null, 'active'],
])(
  'a non-renewing subscription to a plan whose stored duration is %p ends at %p',
  async (...row) => {
    const [duration, expiresAt, status] = row
    await using world = await createWorld()
    const { app, store, userId } = world
    await setStoredDuration(app, duration)
    const product = 'prod_example_pro'
    await deliver(app, store.buyOnce('Non-Renewing Subscription', { product, userId }).notification)
    expect(await world.listSubscriptions()).toMatchObject([{ expiresAt, status }])
  },
)
