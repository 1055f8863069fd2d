import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { toEventDetails } from '../../../../src/features/billing/inbox/event-details.ts'
import { WEBHOOK_TOKEN } from '../../../support/app.ts'
import { createWorld, deliver, signIn } from '../../../support/app-store/world.ts'
import { DAY } from '../../../support/billing.ts'
import { count, storedSums } from '../../../support/business.ts'
import { playProviderEvent } from '../../../support/play-store/life.ts'
import { report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

type World = Awaited<ReturnType<typeof createPlayWorld>>

const START = Date.UTC(2026, 9, 1, 12)

test('a subscription that Google described only after a renewal counts from that period on', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const bought = store.buy({ userId })
  bought.acknowledge()
  for (const [day, month, isNew] of [
    [30, '2026-10', 1],
    [60, '2026-11', 0],
  ] as const) {
    goTo(world, day)
    await report(world, bought.renew())
    goTo(world, day + 5)
    expect(await figuresOf(world, month)).toEqual({
      active: 1,
      new: isNew,
      paid: 9990,
      recurring: 9990,
    })
  }
})

test('a subscription keeps its figures when the app submits it after the billing provider has reported it', async () => {
  await using world = await createPlayWorld()
  const { app, store, email, userId } = world
  const bought = store.buy({ userId })
  bought.acknowledge()
  const deliverFromProvider = async (type: string) => {
    const json = playProviderEvent(bought, type, app.clock.now.getTime(), userId)
    const price = { price_in_purchased_currency: 9.99, currency: 'USD' }
    Object.assign((json as { event: object }).event, price)
    await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
  }
  await deliverFromProvider('INITIAL_PURCHASE')
  goTo(world, 30)
  bought.renew()
  await deliverFromProvider('RENEWAL')
  goTo(world, 40)
  const before = await figuresOf(world, '2026-11')
  await world.submit([bought], false, await signIn(app, email))
  expect(before).toEqual({ active: 1, new: 0, paid: 0, recurring: 9990 })
  expect(await figuresOf(world, '2026-11')).toEqual(before)
  goTo(world, 60)
  await report(world, bought.renew())
  goTo(world, 65)
  expect(await figuresOf(world, '2026-11')).toEqual({ ...before, paid: 9990 })
})

test('the end of Apple’s retries changes no month in which a grace period gave access', async () => {
  await using world = await createWorld(undefined, new Date('2026-10-20T12:00:00Z'))
  const { app, store } = world
  const november = async () => {
    app.clock.advance(5 * 60_000)
    await count(app)
    const { months } = await app.services.figures.read({ month: '2026-11', currency: 'USD' })
    return months.at(-1)
  }
  const bought = store.buy()
  await deliver(app, bought.notification)
  app.clock.now = new Date('2026-11-19T13:00:00Z')
  await deliver(app, bought.failToRenew(16))
  app.clock.now = new Date('2026-12-05T13:00:00Z')
  await deliver(app, bought.endGrace())
  const before = await november()
  expect(before).toMatchObject({ active: 1, churned: 0 })
  app.clock.now = new Date('2027-01-18T13:00:00Z')
  await deliver(app, bought.expire('BILLING_RETRY'))
  expect(await november()).toEqual(before)
})

test.each([
  [40, 3_996],
  [undefined, 9_990],
])(
  'a refund of %p percent by Apple reduces the revenue by that share',
  async (percent, refunded) => {
    await using world = await createWorld()
    const { app, store, userId } = world
    const bought = store.buy({ userId })
    await deliver(app, bought.notification)
    app.clock.advance(5 * 24 * 60 * 60_000)
    await deliver(app, bought.refund(percent))
    await count(app)
    const sums = await storedSums(app)
    expect(sums).toContain('PRODUCTION paid.month 2026-10 USD 9990')
    expect(sums).toContain(`PRODUCTION refunded.month 2026-10 USD ${refunded}`)
    const { db, eventLog } = app.services
    const { billingEvents } = db.tables
    const rows = await db.read.select().from(billingEvents).where(eq(billingEvents.type, 'REFUND'))
    expect(
      rows.map(({ provider, body }) => toEventDetails(eventLog.readEvent(provider, body)).price),
    ).toEqual([{ amount: -refunded / 1000, currency: 'USD' }])
  },
)

function goTo({ app }: World, day: number) {
  app.clock.now = new Date(START + day * DAY)
}

async function figuresOf({ app }: World, month: string) {
  await app.services.counting.rebuild(AbortSignal.timeout(10_000))
  const { months } = await app.services.figures.read({ currency: 'USD' })
  const found = months.find((one) => one.month === month)
  if (!found) throw new Error(`there are no figures for ${month}`)
  const { active, paid, recurring } = found
  return { active, new: found.new, paid, recurring }
}
