import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { NO_CUSTOMER } from '../../../src/features/billing/purchases/ownership.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { DAY, deliver, ms, purchase } from '../../support/billing.ts'
import { fault } from '../../support/fault.ts'
import { playProviderEvent } from '../../support/play-store/life.ts'
import { report } from '../../support/play-store/reports.ts'
import { createPlayWorld } from '../../support/play-store/world.ts'
import { serveProvider } from '../../support/subscriber-api.ts'

test(`checks overdue customers in turn, even if the provider reports no difference ${fault(99)}`, async () => {
  const asked: string[] = []
  using provider = serveProvider((request) => {
    asked.push(customerIn(request))
    return nothing()
  })
  await using app = await startWithOverdue(12, provider.url)
  const { reconcile } = app.services
  const customers = Array.from({ length: 12 }, (_, at) => customerAt(at))
  const signal = AbortSignal.timeout(5_000)
  for (const [from, to] of [
    [0, 5],
    [5, 10],
  ]) {
    asked.length = 0
    await reconcile?.reconcileOverdue(signal, 0.4)
    expect(asked).toEqual(customers.slice(from, to))
  }
  // The last two, then the others from the start.
  asked.length = 0
  await reconcile?.reconcileOverdue(signal)
  expect(asked).toEqual([...customers.slice(10), ...customers.slice(0, 10)])
})

test('queries the same customers again after the provider refused requests', async () => {
  const asked: string[] = []
  let isRefusing = true
  using provider = serveProvider((request) => {
    asked.push(customerIn(request))
    return isRefusing ? new Response('', { status: 429 }) : nothing()
  })
  await using app = await startWithOverdue(12, provider.url)
  const { reconcile } = app.services
  const first = await reconcile?.reconcileOverdue(AbortSignal.timeout(5_000), 0.5)
  expect([first?.isIncomplete, asked.length]).toEqual([true, 5])
  isRefusing = false
  asked.length = 0
  await reconcile?.reconcileOverdue(AbortSignal.timeout(5_000), 0.5)
  expect(asked).toEqual(Array.from({ length: 6 }, (_, at) => customerAt(at)))
})

test('a run that is stopped reports it, and the next run continues where it stopped', async () => {
  const asked: string[] = []
  const stop = new AbortController()
  using provider = serveProvider((request) => {
    asked.push(customerIn(request))
    if (asked.length === 3) stop.abort()
    return nothing()
  })
  await using app = await startWithOverdue(4, provider.url)
  const { reconcile } = app.services
  const first = await reconcile?.reconcileOverdue(stop.signal)
  expect(first).toMatchObject({ customers: 3, isIncomplete: true })
  asked.length = 0
  const second = await reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect(second).toMatchObject({ customers: 4, isIncomplete: false })
  expect(asked).toEqual([2, 3, 0, 1].map(customerAt))
})

test('does not query purchases without an owner', async () => {
  const asked: string[] = []
  using provider = serveProvider((request) => {
    asked.push(customerIn(request))
    return nothing()
  })
  await using app = await startWithOverdue(2, provider.url)
  const { db, reconcile } = app.services
  const { subscriptions } = db.tables
  await db.write((tx) =>
    tx
      .update(subscriptions)
      .set({ customerId: NO_CUSTOMER })
      .where(eq(subscriptions.customerId, customerAt(0))),
  )
  const report = await reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect(report).toMatchObject({ customers: 1, failed: [], isIncomplete: false })
  expect(asked).toEqual([customerAt(1)])
})

test('asks only about purchases that the provider has reported', async () => {
  const asked: string[] = []
  using provider = serveProvider((request) => {
    asked.push(customerIn(request))
    return nothing()
  })
  await using world = await createPlayWorld({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await world.submit([bought])
  const boughtAt = app.clock.now.getTime()
  app.clock.advance(31 * DAY)
  const run = () => app.services.reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect([(await run())?.customers, asked]).toEqual([0, []])
  await deliver(app, playProviderEvent(bought, 'INITIAL_PURCHASE', boughtAt, userId))
  expect([(await run())?.customers, asked]).toEqual([1, [userId]])
})

test('invalid responses about some customers do not stop a run', async () => {
  using provider = serveProvider(() => new Response('{'))
  await using app = await startWithOverdue(7, provider.url)
  const report = await app.services.reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect(report).toMatchObject({ customers: 7, isIncomplete: false })
  expect(report?.failed).toHaveLength(7)
})

const nothing = () => Response.json({ request_date_ms: ms(40), subscriber: {} })

/** An app with `count` customers, each with a purchase whose end no event has reported. */
async function startWithOverdue(count: number, providerUrl: string): Promise<TestApp> {
  const app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: providerUrl })
  app.clock.now = new Date(ms(1))
  await deliver(app, purchase(customerAt(0), { original_transaction_id: customerAt(0) }))
  await copyPurchase(app, count)
  app.clock.now = new Date(ms(40))
  return app
}

function customerIn({ url }: Request): string {
  return new URL(url).pathname.replace('/v1/subscribers/', '')
}

function customerAt(at: number): string {
  return `user-${String(at).padStart(4, '0')}`
}

/** Copies the stored purchase to other customers, so that `count` customers have one. */
async function copyPurchase({ services: { db } }: TestApp, count: number) {
  const { subscriptions } = db.tables
  const [first] = await db.read.select().from(subscriptions)
  if (!first) throw new Error('there is no purchase yet')
  const rows = Array.from({ length: count - 1 }, (_, at) => {
    const customerId = customerAt(at + 1)
    return { ...first, customerId, purchaseKey: `PRODUCTION|${customerId}` }
  })
  await db.write(async (tx) => {
    for (let at = 0; at < rows.length; at += 500) {
      await tx.insert(subscriptions).values(rows.slice(at, at + 500))
    }
  })
}
