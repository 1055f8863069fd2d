import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { readEvent } from '../../../src/features/billing/inbox/event.ts'
import {
  assessPurchases,
  computeEntitlements,
} from '../../../src/features/billing/purchases/access.ts'
import {
  compareEvents,
  findPurchaseKey,
  linkedIds,
} from '../../../src/features/billing/purchases/event-order.ts'
import { foldPurchase } from '../../../src/features/billing/purchases/fold.ts'
import { computeOwners, findOwnerId } from '../../../src/features/billing/purchases/ownership.ts'
import type { Purchase } from '../../../src/features/billing/purchases/purchase.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import {
  bodyOf,
  clearBilling,
  type EventFixture,
  ms,
  receive,
  storedPurchases,
} from '../../support/billing.ts'
import { accessByModel, type LoggedEvent } from '../../support/billing-model.ts'
import { cases } from '../../support/cases.ts'
import { fault } from '../../support/fault.ts'

const EVE = '01a1fecb-4162-75f8-b13e-d84fd1f88be2'
const USERS = ['ann', 'bob', EVE]
const IDS = [...USERS, '$anon-1', '$anon-2']
/** The ids as events spell them: Homeport's own in upper case too, and a placeholder. */
const SPELLINGS = [...IDS, EVE.toUpperCase(), 'Anonymous']
const TYPES = [
  'INITIAL_PURCHASE',
  'RENEWAL',
  'RENEWAL',
  'CANCELLATION',
  'UNCANCELLATION',
  'EXPIRATION',
  'BILLING_ISSUE',
  'SUBSCRIPTION_EXTENDED',
  'REFUND_REVERSED',
  'PRODUCT_CHANGE',
]
const NOW = ms(50)

const day = fc.integer({ min: 0, max: 60 })
const lifecycleModel = {
  type: fc.constantFrom(...TYPES),
  at: day,
  app_user_id: fc.constantFrom(...SPELLINGS),
  aliases: fc.subarray(SPELLINGS, { maxLength: 1 }),
  environment: fc.constantFrom('PRODUCTION', 'PRODUCTION', 'SANDBOX'),
  original_transaction_id: fc.constantFrom('1', '2', '3'),
  entitlement_ids: fc.subarray(['pro', 'gold'], { minLength: 1 }),
  product_id: fc.constantFrom('a', 'b'),
  new_product_id: fc.constantFrom('a', 'b', null),
  purchased_day: day,
  expiration_day: fc.option(fc.integer({ min: 0, max: 100 }), { freq: 9 }),
  grace_period_expiration_at_ms: fc.option(day.map(ms)),
  cancel_reason: fc.constantFrom('UNSUBSCRIBE', 'BILLING_ERROR', 'CUSTOMER_SUPPORT', 'UNKNOWN'),
}
const lifecycleEvent = fc.record(lifecycleModel)
const transfer = fc.record({
  type: fc.constant('TRANSFER'),
  at: day,
  transferred_from: fc.subarray(SPELLINGS, { minLength: 1, maxLength: 2 }),
  transferred_to: fc.constantFrom(...SPELLINGS).map((id) => [id]),
})
/** An event of the only purchase, usually from the same user. */
const singlePurchaseEvent = fc.record({
  ...lifecycleModel,
  type: fc.oneof(fc.constantFrom('RENEWAL', 'NON_RENEWING_PURCHASE'), fc.constantFrom(...TYPES)),
  app_user_id: fc.constantFrom('ann', 'ann', 'ann', 'ann', 'bob'),
  aliases: fc.constant([]),
  environment: fc.constant('PRODUCTION'),
  original_transaction_id: fc.constant('1'),
  store: fc.constantFrom('APP_STORE', 'APP_STORE', null),
})
const onePurchase = sequenceOf(16, singlePurchaseEvent)
const sequence = sequenceOf(9)
const longSequence = sequenceOf(40)

function sequenceOf(maxLength: number, purchaseEvent: fc.Arbitrary<EventFixture> = lifecycleEvent) {
  const event = fc.oneof(
    { weight: 6, arbitrary: purchaseEvent },
    { weight: 1, arbitrary: transfer },
  )
  return fc
    .array(event, { minLength: 1, maxLength })
    .map((events) => events.map((event, at): EventFixture => ({ ...event, id: `E-${at}` })))
}

test(`the pure functions agree with the naive model on random histories, in any order ${fault(82, 83)}`, () => {
  fc.assert(
    fc.property(sequence, fc.infiniteStream(fc.nat()), (events, random) => {
      const log = events.map(logged)
      const shuffled = log
        .map((event) => [random.next().value as number, event] as const)
        .toSorted(([a], [b]) => a - b)
        .map(([, event]) => event)
      expect(accessByFunctions(shuffled)).toEqual(accessByModel(log, USERS, NOW))
    }),
    { numRuns: cases(2_000, 10_000) },
  )
}, 120_000)

test(`stored purchases agree with the model and with a rebuild, with duplicate deliveries ${fault(83)}`, async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(200))
  await fc.assert(
    fc.asyncProperty(sequence, async (events) => {
      await clearBilling(app)
      for (const event of events) await receive(app, event)
      for (const event of events.slice(0, 2)) await receive(app, event)
      // Stale work may still be pending.
      await app.services.backlog.flush()
      expect(await accessByStore(app)).toEqual(accessByModel(events.map(logged), USERS, NOW))
      const { changed } = await app.services.rebuildBilling(AbortSignal.timeout(10_000))
      expect(changed).toEqual([])
    }),
    { numRuns: cases(50, 150) },
  )
}, 1_200_000)

test(`late events, even overridden ones, give the same state as a full fold ${fault(83)}`, async () => {
  await using app = await createTestApp(
    {},
    { foldingSizes: { checkpointEvery: 6, sliceEvents: 6, maxReplayed: 0 } },
  )
  app.clock.now = new Date(ms(200))
  const { backlog, rebuildBilling } = app.services
  await fc.assert(
    fc.asyncProperty(onePurchase, async (events) => {
      await clearBilling(app)
      for (const event of events) await receive(app, event)
      await backlog.flush()
      const log = events.map(logged)
      expect(await accessByStore(app)).toEqual(accessByModel(log, USERS, NOW))
      const stored = await Promise.all(IDS.map((id) => storedPurchases(app, id)))
      const folded = foldPurchase(log.filter((event) => findPurchaseKey(event) !== null))
      expect(stored.flat()).toEqual(folded ? [folded] : [])
      expect((await rebuildBilling(AbortSignal.timeout(10_000))).changed).toEqual([])
    }),
    { numRuns: cases(50, 150) },
  )
}, 120_000)

test.each([
  { checkpointEvery: 1, sliceEvents: 1, maxReplayed: 1 },
  { checkpointEvery: 2, sliceEvents: 3, maxReplayed: 2 },
  { checkpointEvery: 3, sliceEvents: 50, maxReplayed: 32 },
])(
  `agrees with the model when histories exceed checkpoints and slices: %j ${fault(83)}`,
  async (foldingSizes) => {
    await using app = await createTestApp({}, { foldingSizes })
    app.clock.now = new Date(ms(200))
    const { backlog, db, rebuildBilling } = app.services
    await fc.assert(
      fc.asyncProperty(longSequence, fc.infiniteStream(fc.nat(3)), async (events, random) => {
        await clearBilling(app)
        for (const event of events) {
          await receive(app, event)
          // Stale work is done before the next event, or only at the end.
          if (random.next().value === 0) await backlog.flush()
        }
        await backlog.flush()
        expect(await accessByStore(app)).toEqual(accessByModel(events.map(logged), USERS, NOW))
        expect(await db.read.$count(db.tables.stalePurchases)).toBe(0)
        expect(await db.read.$count(db.tables.staleCustomers)).toBe(0)
        expect((await rebuildBilling(AbortSignal.timeout(10_000))).changed).toEqual([])
      }),
      { numRuns: cases(20, 60) },
    )
  },
  120_000,
)

function logged(fixture: EventFixture): LoggedEvent {
  const event = readEvent(bodyOf(fixture), Buffer.from(''))
  if (!event) throw new Error('the fixture has no event')
  return { ...event, orderedAt: ms(fixture.at) }
}

/** Access, computed by the pure functions from a whole log in memory. */
function accessByFunctions(log: LoggedEvent[]): Record<string, string[]> {
  const parent = new Map<string, string>()
  const root = (id: string): string => {
    const up = parent.get(id) ?? id
    return up === id ? id : root(up)
  }
  for (const event of log) {
    const [first, ...others] = linkedIds(event)
    for (const other of others) if (first !== undefined) parent.set(root(other), root(first))
  }
  const transfers = log.filter(({ type }) => type === 'TRANSFER')
  const keys = new Set(log.flatMap((event) => findPurchaseKey(event) ?? []))
  const owned = [...keys].map((key) => {
    const events = log.filter((event) => findPurchaseKey(event) === key)
    const inOrder = events.toSorted(compareEvents)
    const traits = {
      environment: inOrder[0]?.environment ?? '',
      store: inOrder.find(({ store }) => store)?.store ?? null,
    }
    const mentions = inOrder.flatMap((event) => {
      const name = findOwnerId(event)
      return name === null ? [] : [{ ...event, name }]
    })
    const owner = computeOwners(mentions, transfers, traits, root).at(-1)
    return { purchase: foldPurchase(events) as Purchase, owner }
  })
  return accessOf((user) =>
    owned.filter(({ owner }) => owner === root(user)).map(({ purchase }) => purchase),
  )
}

async function accessByStore(app: TestApp): Promise<Record<string, string[]>> {
  const { db, projection } = app.services
  const aliases = await db.read.select().from(db.tables.billingAliases)
  const purchases = new Map<string, Purchase[]>()
  for (const user of USERS) {
    const customerId = aliases.find(({ appUserId }) => appUserId === user)?.customerId ?? user
    const both = await Promise.all(
      ['PRODUCTION', 'SANDBOX'].map((name) => projection.listPurchases(customerId, name)),
    )
    purchases.set(user, both.flat())
  }
  return accessOf((user) => purchases.get(user) ?? [])
}

function accessOf(listPurchases: (user: string) => Purchase[]): Record<string, string[]> {
  return Object.fromEntries(
    USERS.flatMap((user) =>
      ['PRODUCTION', 'SANDBOX'].map((environment) => {
        const purchases = listPurchases(user).filter((each) => each.environment === environment)
        const entitlements = computeEntitlements(assessPurchases(purchases, NOW))
        const active = entitlements.filter((entitlement) => entitlement.active)
        return [`${user} ${environment}`, active.map(({ id }) => id)]
      }),
    ),
  )
}
