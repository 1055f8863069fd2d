import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createClock, createTestApp } from '../../support/app.ts'
import { serveAppStoreApi } from '../../support/app-store/api.ts'
import { createAppStore, type FakeSubscription } from '../../support/app-store/app-store.ts'
import { beginInAppStore } from '../../support/app-store/histories.ts'
import { STATUS } from '../../support/app-store/subscription.ts'
import { cases } from '../../support/cases.ts'
import { servePlayApi } from '../../support/play-store/api.ts'
import { beginOnGooglePlay, runPlayJobs } from '../../support/play-store/histories.ts'
import type { FakeSubscription as PlaySubscription } from '../../support/play-store/plan-changes.ts'
import { createPlayStore, type PlayStore } from '../../support/play-store/play-store.ts'
import { type History, history, runHistories } from '../../support/store-histories.ts'
import { createStripeSimulator, runStripeJobs } from '../../support/stripe/histories.ts'
import { startStripe } from '../../support/stripe/stripe.ts'
import type { FakeSubscription as StripeSubscription } from '../../support/stripe/subscription.ts'

const DAY = 24 * 60 * 60 * 1000

/** Each run tests the same customers. `STORE_HISTORIES` sets how many, `SEED` which ones. */
const numRuns = Number(process.env['STORE_HISTORIES'] ?? cases(4, 500))
const seed = Number(process.env['SEED'] ?? 1)

/** One customer: purchases in each store, some of them also reported by the billing provider. */
const customer = fc.array(
  history.map((random): History => ({ ...random, isSandbox: false })),
  { minLength: 3, maxLength: 8 },
)

test('grants the access that the stores report, with purchases from all stores and the billing provider', async () => {
  await fc.assert(fc.asyncProperty(customer, check), {
    numRuns,
    seed,
    endOnFailure: true,
  })
}, 1_200_000)

async function check(histories: History[]) {
  const clock = createClock()
  clock.now = new Date('2026-10-01T12:00:00Z')
  const appStore = await createAppStore(clock)
  const playStore = createPlayStore(clock)
  const now = () => clock.now
  await using apple = serveAppStoreApi(appStore, now)
  await using google = servePlayApi(playStore, now)
  await using fake = startStripe({ clock })
  await using app = await createTestApp(
    {
      ...appStore.environment,
      ...apple.environment,
      ...google.environment,
      ...fake.environment,
      STORE_GRACE_HOURS: '0',
    },
    { requestsPerSecond: 1_000 },
  )
  app.clock.now = clock.now
  Object.defineProperty(clock, 'now', { get: () => app.clock.now })
  const { user } = await app.register()
  const appStoreSubscriptions: FakeSubscription[] = []
  const playSubscriptions: PlaySubscription[] = []
  const stripeSubscriptions: StripeSubscription[] = []
  const playSetup = { app, store: playStore, api: google }
  const beginAtStripe = await createStripeSimulator({ app, fake }, stripeSubscriptions)
  const begin = [
    (history: History, periodMs: number) =>
      beginInAppStore(app, appStore, history, periodMs, appStoreSubscriptions, user._id),
    (history: History, periodMs: number) =>
      beginOnGooglePlay(playSetup, history, periodMs, playSubscriptions, user._id),
    (history: History, periodMs: number) => beginAtStripe(history, periodMs, user._id),
  ] as const
  await runHistories(
    app,
    histories,
    (history, periodMs) => (begin[histories.indexOf(history) % 3] ?? begin[0])(history, periodMs),
    runJobs,
  )
  app.clock.now = new Date(app.clock.now.getTime() + 8 * DAY)
  // The app submits what it restores: every message about a purchase may have been lost.
  const submissions = playSubscriptions.map((subscription) => subscription.submission())
  await app.services.stores.submit({ userId: user._id, ip: '' }, submissions, false)
  await app.services.stores.history?.catchUp('PRODUCTION', { signal: AbortSignal.timeout(60_000) })
  await runJobs()
  await runJobs()
  await app.services.backlog.flush()
  const { subscriptions } = await app.services.subscription.readForExport(user._id, 'production')
  const at = app.clock.now.getTime()
  const active = subscriptions.filter(
    ({ effectiveEndAt }) => effectiveEndAt === null || Date.parse(effectiveEndAt) > at,
  )
  const expected = [
    ...appStoreSubscriptions
      .filter((subscription) => isActiveInAppStore(subscription, at))
      .map(appStoreProductId),
    ...playSubscriptions
      .filter((subscription) => isActiveOnGooglePlay(subscription, playStore, at))
      .map(({ purchase }) => purchase.lineItems[0]?.productId ?? null),
    ...stripeSubscriptions
      .flatMap((subscription) => subscription.expectedStates())
      .flatMap(({ hasAccess, product }) => (hasAccess ? [product] : [])),
  ]
  expect(active.map(({ productId }) => productId).toSorted()).toEqual(expected.toSorted())

  async function runJobs() {
    await runPlayJobs(app)
    await runStripeJobs(app)
  }
}

function appStoreProductId({ transaction }: FakeSubscription) {
  return transaction['productId'] as string
}

function isActiveInAppStore({ transaction, renewal, status }: FakeSubscription, at: number) {
  const isInGrace = status() === STATUS.inGrace
  const end = isInGrace ? renewal['gracePeriodExpiresDate'] : transaction['expiresDate']
  return (isInGrace || status() === STATUS.active) && Number(end) > at
}

function isActiveOnGooglePlay(
  { record, purchase, state }: PlaySubscription,
  { voided }: PlayStore,
  at: number,
) {
  const isRefunded = voided.some((refund) => refund.voided.orderId === record.orders.at(-1)?.id)
  const isPaid = ['ACTIVE', 'CANCELED', 'IN_GRACE_PERIOD'].includes(state())
  return !isRefunded && isPaid && Date.parse(purchase.lineItems[0]?.expiryTime ?? '') > at
}
