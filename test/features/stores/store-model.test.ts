import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createClock, createTestApp, type TestApp } from '../../support/app.ts'
import { serveAppStoreApi } from '../../support/app-store/api.ts'
import { createAppStore, type FakeSubscription } from '../../support/app-store/app-store.ts'
import { runAppStoreHistories } from '../../support/app-store/histories.ts'
import { STATUS } from '../../support/app-store/subscription.ts'
import { cases } from '../../support/cases.ts'
import { readPurchases, stateOf } from '../../support/purchase-states.ts'
import { type History, history } from '../../support/store-histories.ts'

/** Histories that run at the same time, on one server. */
const BATCH = cases(12, 50)
const batch = fc.array(history, { minLength: BATCH, maxLength: BATCH })

test('after reading the history, every purchase matches the App Store', async () => {
  await fc.assert(
    fc.asyncProperty(batch, (histories) =>
      check(histories, async ({ services: { stores } }) => {
        const signal = AbortSignal.timeout(60_000)
        // The fake API lists both environments at once.
        await stores.history?.catchUp('PRODUCTION', { signal })
      }),
    ),
    { numRuns: cases(1, 30), endOnFailure: true },
  )
}, 1_200_000)

test('after refreshing each purchase, every purchase matches the App Store', async () => {
  await fc.assert(
    fc.asyncProperty(batch, (histories) =>
      check(histories, async ({ services: { stores } }, subscriptions) => {
        for (const bought of subscriptions) {
          expect(await stores.overdue?.refresh(keyOf(bought))).toBe(true)
        }
      }),
    ),
    { numRuns: cases(1, 20), endOnFailure: true },
  )
}, 1_200_000)

/** Runs histories, lets `heal` repair what was lost, and compares all purchases with the App Store. */
async function check(
  histories: History[],
  heal: (app: TestApp, subscriptions: FakeSubscription[]) => Promise<void>,
) {
  const clock = createClock()
  clock.now = new Date('2026-10-01T12:00:00Z')
  const store = await createAppStore(clock)
  await using api = serveAppStoreApi(store, () => clock.now)
  await using app = await createTestApp({ ...store.environment, ...api.environment })
  app.clock.now = clock.now
  Object.defineProperty(clock, 'now', { get: () => app.clock.now })
  const subscriptions = await runAppStoreHistories(app, store, histories)
  await heal(app, subscriptions)
  await app.services.backlog.flush()
  const now = app.clock.now.getTime()
  const purchases = await readPurchases(app)
  for (const bought of subscriptions) {
    const purchase = purchases.get(keyOf(bought))
    const { changes } = bought
    expect<unknown>({ changes, ...(purchase && stateOf(purchase, now)) }).toEqual({
      changes,
      ...expectedStateOf(bought, now),
    })
    // The billing provider may have named the entitlements, but only those of the product.
    expect<unknown[]>([[], [bought.transaction['productId']]]).toContainEqual(
      purchase?.entitlementIds,
    )
  }
  expect((await app.services.rebuildBilling(AbortSignal.timeout(60_000))).changed).toEqual([])
}

/** The expected state, according to the App Store. */
function expectedStateOf({ transaction, renewal, status }: FakeSubscription, now: number) {
  const { productId, expiresDate, revocationDate, revocationType } = transaction
  const { autoRenewProductId, autoRenewStatus, gracePeriodExpiresDate = null } = renewal
  const isRevoked = revocationDate !== undefined
  const isInGrace = status() === STATUS.inGrace
  const isEnded = isRevoked || status() === STATUS.expired
  const end = isInGrace ? Number(gracePeriodExpiresDate) : Number(expiresDate)
  return {
    productId,
    pendingProductId: autoRenewProductId === productId ? null : autoRenewProductId,
    expiresAt: expiresDate,
    graceExpiresAt: isEnded ? null : gracePeriodExpiresDate,
    willRenew: autoRenewStatus === 1,
    isRefunded: isRevoked && revocationType !== 'FAMILY_REVOKE',
    isEnded,
    hasBillingIssue: isInGrace || status() === STATUS.inRetry,
    isActive: (isInGrace || status() === STATUS.active) && end > now,
  }
}

function keyOf({ originalTransactionId, environment }: FakeSubscription): string {
  return `${environment.toUpperCase()}|${originalTransactionId}`
}
