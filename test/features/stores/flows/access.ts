import { expect } from 'bun:test'
import fc from 'fast-check'
import { assessWithPlans } from '../../../../src/features/billing/access/assessment.ts'
import { computeEntitlements } from '../../../../src/features/billing/purchases/access.ts'
import { findPurchaseKey } from '../../../../src/features/billing/purchases/event-order.ts'
import { foldPurchase } from '../../../../src/features/billing/purchases/fold.ts'
import type { Purchase } from '../../../../src/features/billing/purchases/purchase.ts'
import type { TestApp } from '../../../support/app.ts'
import { deliver } from '../../../support/app-store/world.ts'
import { clearBilling, ms, receive, storedPurchases } from '../../../support/billing.ts'
import { cases } from '../../../support/cases.ts'
import { ANN } from '../../../support/flows/events.ts'
import { type Report, reportFromProvider } from './sources.ts'

const HOUR = 3_600_000
/** 06:00 and 18:00, when no period has ended within the preceding grace period. */
export const DAYS = Array.from({ length: 200 }, (_, at) => at / 2 + 0.25)
const PLANS = [
  { code: 'pro', paymentProductId: 'prod_example_pro' },
  ...['basic', 'gold', 'silver', 'bronze'].map((code) => ({ code, paymentProductId: code })),
].map((plan) => ({ ...plan, paymentPriceId: '', price: 10, duration: 'month' }))

/** Delivers all reports twice, in several orders, to an empty server, and compares what it stores. */
export async function expectSameInAnyOrder(app: TestApp, lists: Report[][]) {
  const { db } = app.services
  for (const order of lists.flatMap(permutationsOf)) {
    await clearBilling(app)
    await db.write((tx) => tx.delete(db.tables.storeChecks))
    for (const report of [...order, ...order]) await deliverReport(app, report)
    const stored = await storedPurchases(app, ANN)
    expect(sorted(stored)).toEqual(sorted(purchasesIn(order)))
  }
  const { changed } = await app.services.rebuildBilling(AbortSignal.timeout(10_000))
  expect(changed).toEqual([])
}

/** Some permutations, the same in each run. */
function permutationsOf(reports: Report[]): Report[][] {
  const permutation = fc.shuffledSubarray(reports, { minLength: reports.length })
  return fc.sample(permutation, { numRuns: cases(2, 60), seed: 1 })
}

async function deliverReport(app: TestApp, report: Report) {
  if ('notification' in report) await deliver(app, report.notification)
  else if ('delivery' in report) await app.services.eventInbox.receive(report.delivery)
  else await receive(app, report.fixture)
}

/** Delays a report from the billing provider by `seconds`; reports from a store keep their time. */
export function delayReport(report: Report, seconds: number): Report {
  return 'fixture' in report ? reportFromProvider(report.fixture, seconds) : report
}

/** The access on `day`, after all events up to that day. */
export function accessOn(day: number, reports: Report[]) {
  const now = ms(day)
  const purchases = purchasesIn(reports.filter(({ event }) => event.orderedAt <= now))
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

function purchasesIn(reports: Report[]): Purchase[] {
  const log = reports.map(({ event }) => event)
  const keys = [...new Set(log.flatMap((event) => findPurchaseKey(event) ?? []))]
  return keys.flatMap(
    (key) => foldPurchase(log.filter((event) => findPurchaseKey(event) === key)) ?? [],
  )
}

function sorted(purchases: Purchase[]): Purchase[] {
  return purchases.toSorted((a, b) => a.startedAt - b.startedAt)
}
