import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createClock, createTestApp } from '../../../support/app.ts'
import { cases } from '../../../support/cases.ts'
import { servePlayApi } from '../../../support/play-store/api.ts'
import { runPlayHistories, runPlayJobs } from '../../../support/play-store/histories.ts'
import type { FakeSubscription } from '../../../support/play-store/plan-changes.ts'
import { createPlayStore, type PlayStore } from '../../../support/play-store/play-store.ts'
import { readPurchases, stateOf } from '../../../support/purchase-states.ts'
import { type History, history } from '../../../support/store-histories.ts'

const DAY = 24 * 60 * 60 * 1000
/** Histories that run at the same time, on one server. */
const BATCH = cases(12, 50)
const batch = fc.array(history, { minLength: BATCH, maxLength: BATCH })

test('whatever messages are lost, every purchase matches Google a week later', async () => {
  await fc.assert(fc.asyncProperty(batch, check), {
    numRuns: cases(1, 40),
    endOnFailure: true,
  })
}, 1_200_000)

async function check(histories: History[]) {
  const clock = createClock()
  clock.now = new Date('2026-10-01T12:00:00Z')
  const store = createPlayStore(clock)
  await using api = servePlayApi(store, () => clock.now)
  await using app = await createTestApp(api.environment, { requestsPerSecond: 1_000 })
  app.clock.now = clock.now
  Object.defineProperty(clock, 'now', { get: () => app.clock.now })
  const subscriptions = await runPlayHistories({ app, store, api }, histories)
  app.clock.now = new Date(app.clock.now.getTime() + 8 * DAY)
  await runPlayJobs(app)
  await runPlayJobs(app)
  await app.services.backlog.flush()
  const now = app.clock.now.getTime()
  const purchases = await readPurchases(app)
  for (const bought of subscriptions) {
    const purchase = purchases.get(keyOf(bought))
    // The server never learned of a purchase if every message about it was lost.
    if (purchase === undefined) continue
    const { changes } = bought
    expect<unknown>({ changes, ...stateOf(purchase, now) }).toEqual({
      changes,
      ...expectedStateOf(bought, store, now),
    })
  }
  expect((await app.services.rebuildBilling(AbortSignal.timeout(60_000))).changed).toEqual([])
}

/** The expected state of a purchase, according to Google. */
function expectedStateOf(
  { purchase, record, state }: FakeSubscription,
  { voided }: PlayStore,
  now: number,
) {
  const [item] = purchase.lineItems
  const current = state()
  const isInGrace = current === 'IN_GRACE_PERIOD'
  const end = Date.parse(item?.expiryTime ?? '')
  const refunded = voided.some((one) => one.voided.orderId === record.orders.at(-1)?.id)
  return {
    productId: item?.productId,
    pendingProductId: item?.deferredItemReplacement?.productId ?? null,
    // Google states only the end of the grace period, if it was not queried before.
    expiresAt: current === 'ON_HOLD' || isInGrace ? expect.any(Number) : end,
    graceExpiresAt: isInGrace ? end : null,
    willRenew: item?.autoRenewingPlan?.autoRenewEnabled === true,
    isRefunded: refunded,
    isEnded: refunded || ['EXPIRED', 'ON_HOLD', 'PAUSED'].includes(current),
    hasBillingIssue: isInGrace || current === 'ON_HOLD',
    isActive: !refunded && ['ACTIVE', 'CANCELED', 'IN_GRACE_PERIOD'].includes(current) && end > now,
  }
}

function keyOf({ record, purchase }: FakeSubscription): string {
  const environment = purchase.testPurchase === undefined ? 'PRODUCTION' : 'SANDBOX'
  return `${environment}|${record.orders[0]?.id}`
}
