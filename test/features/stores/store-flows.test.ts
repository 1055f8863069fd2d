import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { assessWithPlans } from '../../../src/features/billing/access/assessment.ts'
import { computeEntitlements } from '../../../src/features/billing/purchases/access.ts'
import { findPurchaseKey } from '../../../src/features/billing/purchases/event-order.ts'
import { foldPurchase } from '../../../src/features/billing/purchases/fold.ts'
import type { Purchase } from '../../../src/features/billing/purchases/purchase.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver } from '../../support/app-store/world.ts'
import { clearBilling, ms, receive, storedPurchases } from '../../support/billing.ts'
import { cases } from '../../support/cases.ts'
import { ANN, type Flow } from '../../support/flows/events.ts'
import { NOT_ON_GOOGLE_PLAY, playFlows } from './flows/play-flows.ts'
import { playOnGoogle } from './flows/play-sources.ts'
import { flowStore, playFlow, type Spoken, spokenByProvider } from './flows/sources.ts'
import { billingFlows, NOT_IN_APP_STORE, storeFlows } from './flows/store-flows.ts'

const HOUR = 3_600_000
/** Six and eighteen hours after midnight: no period ends within the leniency before. */
const INSTANTS = Array.from({ length: 200 }, (_, at) => at / 2 + 0.25)
const PLANS = [
  { code: 'pro', paymentProductId: 'prod_example_pro' },
  { code: 'basic', paymentProductId: 'basic' },
  { code: 'gold', paymentProductId: 'gold' },
].map((plan) => ({ ...plan, paymentPriceId: '', price: 10, duration: 'month' }))

type Played = Flow & { played: Record<'billing' | 'store', Spoken[]> }

const stores = {
  'App Store': {
    flows: storeFlows.map((flow): Played => ({ ...flow, played: playFlow(flow) })),
    missing: NOT_IN_APP_STORE,
  },
  'Google Play': {
    flows: playFlows.map((flow): Played => ({ ...flow, played: playOnGoogle(flow) })),
    missing: NOT_ON_GOOGLE_PLAY,
  },
}
const named = Object.entries(stores).flatMap(([store, { flows }]) =>
  flows.map((flow) => [store, flow.name, flow] as const),
)

test.each(Object.entries(stores))(
  'every flow from F1 to F20 is on the %s too, or says why not',
  (_name, { flows, missing }) => {
    const inStore = flows.map(({ name }) => name)
    const others = billingFlows.map(({ name }) => name).filter((name) => !inStore.includes(name))
    const reasons = Object.keys(missing)
    expect(others.filter((name) => !reasons.some((start) => name.startsWith(start)))).toEqual([])
    expect(reasons.filter((start) => !others.some((name) => name.startsWith(start)))).toEqual([])
  },
)

describe('a store and the billing provider give the same access at any time', () => {
  test.each(named)('%s: %s', (_store, _name, flow) => {
    const { billing, store } = flow.played
    const byProvider = INSTANTS.map((day) => accessOn(day, billing))
    expect(INSTANTS.map((day) => accessOn(day, store))).toEqual(byProvider)
    for (const [day, , isActive, status] of flow.expected) {
      const { entitlements, best } = accessOn(day, store)
      expect([day, entitlements.includes('pro')]).toEqual([day, isActive])
      if (status) expect<string | undefined>(best?.status).toBe(status)
    }
  })
})

describe('both sources together give the same access in any order of their reports', () => {
  test.each(named)('%s: %s', (_store, _name, flow) => {
    const { billing, store } = flow.played
    const byStore = INSTANTS.map((day) => accessOn(day, store))
    for (let choice = 0; choice < 2 ** billing.length; choice++) {
      const reported = billing.map((spoken, at) => shifted(spoken, choice & (1 << at) ? 60 : -60))
      const both = [...store, ...reported]
      expect([choice, INSTANTS.map((day) => accessOn(day, both))]).toEqual([choice, byStore])
    }
  })
})

describe('stores the same purchases in any order, with every event delivered twice', () => {
  test.each(named)(
    '%s: %s',
    async (_store, _name, flow) => {
      await using app = await createTestApp(flowStore.environment)
      app.clock.now = new Date(ms(200))
      const { billing, store } = flow.played
      const both = [...store, ...billing]
      const { db } = app.services
      for (const order of [...ordersOf(store), ...ordersOf(both)]) {
        await clearBilling(app)
        await db.write((tx) => tx.delete(db.tables.storeChecks))
        for (const spoken of [...order, ...order]) await say(app, spoken)
        const stored = await storedPurchases(app, ANN)
        expect(sorted(stored)).toEqual(sorted(purchasesIn(order)))
      }
      const { changed } = await app.services.rebuildBilling(AbortSignal.timeout(10_000))
      expect(changed).toEqual([])
    },
    60_000,
  )
})

/** Some orders, the same ones each time. */
function ordersOf(spoken: Spoken[]): Spoken[][] {
  const order = fc.shuffledSubarray(spoken, { minLength: spoken.length })
  return fc.sample(order, { numRuns: cases(2, 60), seed: 1 })
}

async function say(app: TestApp, spoken: Spoken) {
  if ('notification' in spoken) await deliver(app, spoken.notification)
  else if ('delivery' in spoken) await app.services.eventInbox.receive(spoken.delivery)
  else await receive(app, spoken.fixture)
}

/** The event, reported some seconds later. */
function shifted(spoken: Spoken, seconds: number): Spoken {
  return 'fixture' in spoken ? spokenByProvider(spoken.fixture, seconds) : spoken
}

/** The access on `day`, after the events until then. */
function accessOn(day: number, spoken: Spoken[]) {
  const now = ms(day)
  const purchases = purchasesIn(spoken.filter(({ event }) => event.orderedAt <= now))
  const settings = { graceMs: 3 * HOUR, sandboxTesters: new Set<string>() }
  const assessed = assessWithPlans(purchases, { plans: PLANS, archived: [] }, now, settings)
  const active = computeEntitlements(assessed).filter((entitlement) => entitlement.active)
  const [best] = assessed
  return {
    day,
    entitlements: active.map(({ id }) => id),
    best: best && { active: best.active, status: best.status, productId: best.productId },
  }
}

function purchasesIn(spoken: Spoken[]): Purchase[] {
  const log = spoken.map(({ event }) => event)
  const keys = [...new Set(log.flatMap((event) => findPurchaseKey(event) ?? []))]
  return keys.flatMap(
    (key) => foldPurchase(log.filter((event) => findPurchaseKey(event) === key)) ?? [],
  )
}

function sorted(purchases: Purchase[]): Purchase[] {
  return purchases.toSorted((a, b) => a.startedAt - b.startedAt)
}
