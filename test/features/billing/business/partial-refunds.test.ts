import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { toEventDetails } from '../../../../src/features/billing/inbox/event-details.ts'
import { createWorld, deliver } from '../../../support/app-store/world.ts'
import { receive } from '../../../support/billing.ts'
import { count, createFiguresApp, storedSums } from '../../../support/business.ts'
import { cancellation, initial } from '../../../support/flows/events.ts'

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

test.each([
  ['CUSTOMER_SUPPORT', -5, 5_000],
  ['UNSUBSCRIBE', -20, 20_000],
])('a refund by Stripe (%s, %p) reduces the revenue', async (reason, price, refunded) => {
  await using app = await createFiguresApp()
  const stripe = { store: 'STRIPE' }
  await receive(app, initial({ ...stripe, price: 20 }))
  await receive(app, cancellation(5, reason, { ...stripe, price }))
  await count(app)
  const sums = await storedSums(app)
  expect(sums).toContain('PRODUCTION paid.month 2026-10 USD 20000')
  expect(sums).toContain(`PRODUCTION refunded.month 2026-10 USD ${refunded}`)
})
