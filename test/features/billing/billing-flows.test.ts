import { describe, expect, test } from 'bun:test'
import { readEvent } from '../../../src/features/billing/inbox/event.ts'
import {
  assessPurchases,
  computeEntitlements,
} from '../../../src/features/billing/purchases/access.ts'
import { findPurchaseKey } from '../../../src/features/billing/purchases/event-order.ts'
import { foldPurchase } from '../../../src/features/billing/purchases/fold.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import {
  bodyOf,
  clearBilling,
  deliver,
  type EventFixture,
  ms,
  permutations,
  purchase,
  receive,
  storedPurchases,
} from '../../support/billing.ts'
import { cases } from '../../support/cases.ts'
import { fault } from '../../support/fault.ts'
import { changes } from '../../support/flows/changes.ts'
import { edges } from '../../support/flows/edges.ts'
import { ANN, cancellation, initial, renewal } from '../../support/flows/events.ts'
import { lapses } from '../../support/flows/lapses.ts'
import { oddInputs } from '../../support/flows/odd-inputs.ts'

/** The maximum number of orders per flow that are also stored, not just folded. */
const MAX_STORED_ORDERS = cases(20, 60)

const flows = [...lapses, ...changes, ...edges, ...oddInputs]

describe('X1, X2, X3, X12: gives the same result in every order, with every event delivered twice', () => {
  test.each(flows.map((flow) => [flow.name, flow] as const))(
    '%s',
    async (_name, { events, expected }) => {
      await using app = await createTestApp()
      app.clock.now = new Date(ms(200))
      let first: string | null = null
      const orders = [...permutations(events.map((event, at) => ({ ...event, id: `E-${at}` })))]
      // All orders are folded; a sample of them is stored as well.
      const interval = Math.ceil(orders.length / MAX_STORED_ORDERS)
      const stored = orders.filter((_, at) => at % interval === 0)
      const folded = new Set(orders.map((order) => JSON.stringify(foldAll(order))))
      expect(folded.size).toBe(1)
      for (const order of stored) {
        await clearBilling(app)
        for (const event of order) await receive(app, event)
        for (const event of order) expect(await receive(app, event)).toBe('duplicate')
        const state = await stateOf(app)
        first ??= state
        expect(state).toBe(first)
      }
      for (const [day, user, access, status] of expected) {
        const seen = await accessOf(app, user, day)
        expect([day, user, seen.access]).toEqual([day, user, access])
        if (status) expect(`${day} ${seen.status}`).toBe(`${day} ${status}`)
      }
      // X11: a rebuild from the log gives the same bytes.
      await clearDerivedState(app)
      await app.services.rebuildBilling(AbortSignal.timeout(10_000))
      expect(await stateOf(app)).toBe(first ?? '')
      const report = await app.services.rebuildBilling(AbortSignal.timeout(10_000))
      expect(report.changed).toEqual([])
    },
    60_000,
  )
})

/** The purchases of a flow, computed by the pure functions alone. */
function foldAll(events: EventFixture[]) {
  const log = events.flatMap((fixture) => {
    const event = readEvent(bodyOf(fixture), Buffer.from(''))
    return event ? [{ ...event, orderedAt: ms(fixture.at) }] : []
  })
  const keys = [...new Set(log.flatMap((event) => findPurchaseKey(event) ?? []))].toSorted()
  return keys.map((key) => [
    key,
    foldPurchase(log.filter((event) => findPurchaseKey(event) === key)),
  ])
}

/** Whether `user` has access to `pro` on `day`, and the status of the best stored purchase. */
async function accessOf(app: TestApp, user: string, day: number) {
  const { db } = app.services
  const { billingAliases } = db.tables
  const aliases = await db.read.select().from(billingAliases)
  const customerId = aliases.find(({ appUserId }) => appUserId === user)?.customerId ?? user
  const stored = await storedPurchases(app, customerId)
  const purchases = assessPurchases(stored, ms(day))
  const pro = computeEntitlements(purchases).find(({ id }) => id === 'pro')
  return { access: pro?.active ?? false, status: purchases[0]?.status }
}

/** The whole derived state as text. */
async function stateOf(app: TestApp): Promise<string> {
  const { db } = app.services
  const { subscriptions, billingAliases } = db.tables
  return JSON.stringify([
    await db.read.select().from(subscriptions).orderBy(subscriptions.purchaseKey),
    await db.read.select().from(billingAliases).orderBy(billingAliases.appUserId),
  ])
}

async function clearDerivedState(app: TestApp) {
  const { db } = app.services
  const { subscriptions, billingAliases, purchaseOwners, transferIds } = db.tables
  await db.write(async (tx) => {
    for (const table of [subscriptions, billingAliases, purchaseOwners, transferIds])
      await tx.delete(table)
  })
}

test('X6: access ends on the expiry date even without an EXPIRATION event', async () => {
  await using app = await createTestApp()
  await deliver(app, initial())
  expect((await accessOf(app, ANN, 29)).access).toBe(true)
  expect((await accessOf(app, ANN, 30.1)).access).toBe(false)
})

test(`a late event is applied in order and does not undo later events ${fault(92)}`, async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(200))
  for (const event of [renewal(30, 60), cancellation(5, 'UNSUBSCRIBE'), initial()])
    await deliver(app, event)
  expect(await accessOf(app, ANN, 31)).toEqual({ access: true, status: 'active' })
})

test('F10: a refund of an earlier period changes nothing', async () => {
  await using app = await createTestApp()
  for (const event of [initial(), renewal(30, 60), cancellation(35, 'CUSTOMER_SUPPORT')])
    await deliver(app, event)
  expect(await accessOf(app, ANN, 36)).toEqual({ access: true, status: 'active' })
})

test(`an event dated in the year 4466 is ordered by the time it was received ${fault(91)}`, async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const event = { ...bodyOf(initial()).event, id: 'far', event_timestamp_ms: 78_789_789_798_798 }
  await deliver(app, { event })
  await deliver(app, cancellation(2, 'CUSTOMER_SUPPORT', { expiration_day: 2 }))
  expect((await accessOf(app, ANN, 3)).access).toBe(false)
  const [kept] = await app.services.db.read.select().from(app.services.db.tables.billingEvents)
  expect([kept?.orderedAt ?? null, kept?.clockIsOff ?? null]).toEqual([ms(1), true])
})

test.each([
  [8.64e15, ms(1), true],
  [Date.UTC(2100, 0), ms(1), true],
  [Date.UTC(2000, 0) - 1, ms(1), true],
  [0, ms(1), true],
  [Date.UTC(2000, 0), Date.UTC(2000, 0), false],
])(`an event with the time %p is ordered at %p ${fault(91)}`, async (at, orderedAt, clockIsOff) => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  await deliver(app, { event: { ...bodyOf(initial()).event, event_timestamp_ms: at } })
  const [kept] = await app.services.db.read.select().from(app.services.db.tables.billingEvents)
  expect(kept).toMatchObject({ orderedAt, clockIsOff })
})

test.each([Date.UTC(10_000, 0), 8.64e15])(
  `marks the end %p as implausible and shows apps no end ${fault(91)}`,
  async (end) => {
    await using app = await createTestApp()
    app.clock.now = new Date(ms(1))
    const { accessToken, user } = await app.register()
    await deliver(app, purchase(user._id, { expiration_at_ms: end, expiration_day: undefined }))
    const path = '/api/user/subscription/v1'
    const { json } = await app.ask('GET', path, { token: accessToken })
    expect(json.response.entitlements[0]).toMatchObject({ active: true, expiresAt: null })
    const [kept] = await app.services.db.read.select().from(app.services.db.tables.billingEvents)
    expect(kept).toMatchObject({ orderedAt: ms(0), clockIsOff: true })
  },
)
