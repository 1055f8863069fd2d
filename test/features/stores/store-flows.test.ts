import { describe, expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { ms } from '../../support/billing.ts'
import type { Flow } from '../../support/flows/events.ts'
import { accessOn, DAYS, delayReport, expectSameInAnyOrder } from './flows/access.ts'
import { NOT_ON_GOOGLE_PLAY, playFlows } from './flows/play-flows.ts'
import { runPlayFlow } from './flows/play-sources.ts'
import { flowStore, type Report, runAppStoreFlow } from './flows/sources.ts'
import { billingFlows, NOT_IN_APP_STORE, storeFlows } from './flows/store-flows.ts'
import { NOT_AT_STRIPE, stripeFlows } from './flows/stripe-flows.ts'
import { runStripeFlow } from './flows/stripe-sources.ts'

type ReportedFlow = Flow & { reports: Record<'billing' | 'store', Report[]> }

const stores = {
  'App Store': {
    flows: storeFlows.map((flow): ReportedFlow => ({ ...flow, reports: runAppStoreFlow(flow) })),
    missing: NOT_IN_APP_STORE,
  },
  'Google Play': {
    flows: playFlows.map((flow): ReportedFlow => ({ ...flow, reports: runPlayFlow(flow) })),
    missing: NOT_ON_GOOGLE_PLAY,
  },
  Stripe: {
    flows: await Promise.all(
      stripeFlows.map(
        async (flow): Promise<ReportedFlow> => ({ ...flow, reports: await runStripeFlow(flow) }),
      ),
    ),
    missing: NOT_AT_STRIPE,
  },
}
const cases = Object.entries(stores).flatMap(([store, { flows }]) =>
  flows.map((flow) => [store, flow.name, flow] as const),
)

test.each(Object.entries(stores))(
  'every flow from F1 to F20 exists in %s too, or has a reason why not',
  (_name, { flows, missing }) => {
    const inStore = flows.map(({ name }) => name)
    const others = billingFlows.map(({ name }) => name).filter((name) => !inStore.includes(name))
    const reasons = Object.keys(missing)
    expect(others.filter((name) => !reasons.some((start) => name.startsWith(start)))).toEqual([])
    expect(reasons.filter((start) => !others.some((name) => name.startsWith(start)))).toEqual([])
  },
)

describe('a store and the billing provider give the same access at any time', () => {
  test.each(cases)('%s: %s', (_store, _name, flow) => {
    const { billing, store } = flow.reports
    const byProvider = DAYS.map((day) => accessOn(day, billing))
    expect(DAYS.map((day) => accessOn(day, store))).toEqual(byProvider)
    for (const [day, , isActive, status] of flow.expected) {
      const { entitlements, best } = accessOn(day, store)
      expect([day, entitlements.includes('pro')]).toEqual([day, isActive])
      if (status) expect<string | undefined>(best?.status).toBe(status)
    }
  })
})

describe('both sources together give the same access in any order of their reports', () => {
  test.each(cases)('%s: %s', (_store, _name, flow) => {
    const { billing, store } = flow.reports
    const byStore = DAYS.map((day) => accessOn(day, store))
    for (let choice = 0; choice < 2 ** billing.length; choice++) {
      const reported = billing.map((report, at) =>
        delayReport(report, choice & (1 << at) ? 60 : -60),
      )
      const both = [...store, ...reported]
      expect([choice, DAYS.map((day) => accessOn(day, both))]).toEqual([choice, byStore])
    }
  })
})

describe('stores the same purchases in any order, with every event delivered twice', () => {
  test.each(cases)(
    '%s: %s',
    async (_store, _name, flow) => {
      await using app = await createTestApp(flowStore.environment)
      app.clock.now = new Date(ms(200))
      const { billing, store } = flow.reports
      await expectSameInAnyOrder(app, [store, [...store, ...billing]])
    },
    60_000,
  )
})
