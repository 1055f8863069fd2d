import { describe, expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { ms } from '../../support/billing.ts'
import { accessOn, DAYS, delayReport, expectSameInAnyOrder } from './flows/access.ts'
import { buy as buyOnGooglePlay } from './flows/play-flows.ts'
import { runPlayFlow } from './flows/play-sources.ts'
import { flowStore, type Report, runAppStoreFlow } from './flows/sources.ts'
import { buy as buyInAppStore } from './flows/store-flows.ts'
import { stripeFlows } from './flows/stripe-flows.ts'
import { runStripeFlow } from './flows/stripe-sources.ts'

/** The same customer's purchases of other plans. */
const silver = runAppStoreFlow({
  name: 'in the App Store',
  events: [],
  expected: [],
  steps: [
    [1, buyInAppStore('silver')],
    [31, ({ bought }) => bought.renew()],
    [40, ({ bought }) => bought.refund()],
  ],
}).store
const bronze = runPlayFlow({
  name: 'on Google Play',
  events: [],
  expected: [],
  steps: [
    [2, buyOnGooglePlay('bronze')],
    [
      32,
      ({ bought }) => {
        bought.failToRenew(16)
        return [bought]
      },
    ],
  ],
}).store
const cases = await Promise.all(
  stripeFlows.map(async (flow) => [flow.name, await runStripeFlow(flow)] as const),
)

describe('purchases in three stores, one of which the billing provider also reports, give the access of each store', () => {
  test.each(cases)('%s', (_name, { billing, store }) => {
    const expected = DAYS.map((day) =>
      [silver, bronze, store].flatMap((each) => accessOn(day, each).entitlements).toSorted(),
    )
    for (const seconds of [-60, 60]) {
      const reported = billing.map((report) => delayReport(report, seconds))
      const all = [...silver, ...reported, ...bronze, ...store]
      expect(DAYS.map((day) => accessOn(day, all).entitlements)).toEqual(expected)
    }
  })
})

describe('stores the same purchases from all four sources in any order', () => {
  test.each(cases)(
    '%s',
    async (_name, { billing, store }) => {
      await using app = await createTestApp(flowStore.environment)
      app.clock.now = new Date(ms(200))
      const all: Report[] = [...silver, ...bronze, ...store, ...billing]
      await expectSameInAnyOrder(app, [all])
    },
    60_000,
  )
})
