import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, type EventFixture, iso, lifecycle, ms, purchase } from '../../support/billing.ts'
import { serveProvider } from '../../support/subscriber-api.ts'

const PRODUCT = 'prod_example_pro'
/** The provider's report about the purchase that `purchase` creates. */
const REPORT = {
  store: 'app_store',
  is_sandbox: false,
  period_type: 'normal',
  purchase_date: iso(0),
  expires_date: iso(30),
  store_transaction_id: '1000',
}
const cancelled = lifecycle('', 'CANCELLATION', 1, { cancel_reason: 'UNSUBSCRIBE' })
const failed = lifecycle('', 'BILLING_ISSUE', 1)
const expired = lifecycle('', 'EXPIRATION', 30, { purchased_day: 0 })

type Comparison = [name: string, later: EventFixture[], reported: object, corrected: boolean]

test.each<Comparison>([
  ['the same values', [], REPORT, false],
  ['a later end', [], { ...REPORT, expires_date: iso(40) }, true],
  ['a refund', [], { ...REPORT, refunded_at: iso(20) }, true],
  ['an unsubscription', [], { ...REPORT, unsubscribe_detected_at: iso(20) }, true],
  ['a known unsubscription', [cancelled], { ...REPORT, unsubscribe_detected_at: iso(1) }, false],
  ['a billing issue', [cancelled], { ...REPORT, billing_issues_detected_at: iso(20) }, true],
  ['a resolved billing issue', [failed], REPORT, true],
  ['unsubscribing after the end', [expired], { ...REPORT, unsubscribe_detected_at: iso(1) }, false],
  ['a refund of an ended purchase', [expired], { ...REPORT, refunded_at: iso(20) }, true],
  ['a different store', [], { ...REPORT, store: 'stripe' }, true],
  ['a different environment', [], { ...REPORT, is_sandbox: true }, true],
])('a report of %s is compared with the purchase', async (_name, later, reported, corrected) => {
  using provider = serveReport({ [PRODUCT]: reported })
  await using app = await startApp(provider.url)
  for (const event of [purchase('ann'), ...later]) {
    await deliver(app, { ...event, app_user_id: 'ann' })
  }
  const report = await reconcile(app)
  expect(report?.corrected).toEqual(corrected ? [`ann ${PRODUCT}`] : [])
  // The correction matches the provider’s report, so there is nothing left to correct.
  expect((await reconcile(app))?.corrected).toEqual([])
})

test('reads store, base plan, environment and entitlements of each reported product', async () => {
  using provider = serveReport(
    {
      pro: { ...REPORT, store: 'play_store', product_plan_identifier: 'monthly' },
      gold: { ...REPORT, is_sandbox: true, store_transaction_id: null },
    },
    { pro: { product_identifier: 'pro' }, extra: { product_identifier: 'gold' } },
  )
  await using app = await startApp(provider.url)
  await deliver(app, purchase('ann', { product_id: 'other' }))
  expect((await reconcile(app))?.corrected).toEqual(['ann pro:monthly', 'ann gold'])
  const { projection } = app.services
  expect(await projection.listPurchases('ann', 'PRODUCTION')).toMatchObject([
    { productId: 'pro:monthly', store: 'PLAY_STORE', entitlementIds: ['pro'] },
  ])
  expect(await projection.listPurchases('ann', 'SANDBOX')).toMatchObject([
    { productId: 'gold', entitlementIds: ['extra'] },
  ])
})

test.each([
  ['a status of 404', () => new Response('{}', { status: 404 })],
  ['invalid JSON', () => new Response('x')],
  ['a body of over a megabyte', () => new Response(`"${'x'.repeat(1024 * 1024)}"`)],
])('a response with %s is a failure', async (_name, reply) => {
  using provider = serveProvider(reply)
  await using app = await startApp(provider.url)
  await deliver(app, purchase('ann'))
  expect(await reconcile(app)).toMatchObject({ customers: 1, corrected: [], failed: ['ann'] })
})

test.each<[string, EventFixture[], number, boolean]>([
  ['ended half an hour ago', [], 30 + 0.5 / 24, false],
  ['ended two hours ago', [], 30 + 2 / 24, true],
  ['ended 59 days ago', [], 89, true],
  ['ended 61 days ago', [], 91, false],
  [
    'is in its grace period',
    [lifecycle('ann', 'BILLING_ISSUE', 29, { grace_period_expiration_day: 40 })],
    35,
    false,
  ],
  ['was ended by an event', [lifecycle('ann', 'EXPIRATION', 30, { purchased_day: 0 })], 35, false],
])('decides whether to query a purchase that %s: %#', async (_name, later, day, isAsked) => {
  using provider = serveReport({ [PRODUCT]: REPORT })
  await using app = await startApp(provider.url)
  for (const event of [purchase('ann'), ...later]) await deliver(app, event)
  app.clock.now = new Date(ms(day))
  const report = await app.services.reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect(report?.customers).toBe(isAsked ? 1 : 0)
})

test('queries a customer with two ended purchases only once', async () => {
  using provider = serveReport({ [PRODUCT]: REPORT })
  await using app = await startApp(provider.url)
  for (const id of ['1', '2']) await deliver(app, purchase('ann', { original_transaction_id: id }))
  const report = await app.services.reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect(report?.customers).toBe(1)
})

test('does not query a deleted user', async () => {
  const asked: string[] = []
  using provider = serveProvider((request) => {
    asked.push(request.url)
    return new Response('{}')
  })
  await using app = await startApp(provider.url)
  const { accessToken: token, user } = await app.register()
  await deliver(app, purchase(user._id))
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  await app.services.backlog.flush()
  await app.services.reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect(asked).toEqual([])
})

/** An app at day 40, with access to the provider's API. */
async function startApp(url: string): Promise<TestApp> {
  const app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: url })
  app.clock.now = new Date(ms(40))
  return app
}

function reconcile({ services }: TestApp) {
  return services.reconcile?.reconcileUser('ann', AbortSignal.timeout(5_000))
}

function serveReport(subscriptions: object, entitlements: object = {}) {
  const body = { request_date_ms: ms(39), subscriber: { entitlements, subscriptions } }
  return serveProvider(() => Response.json(body))
}
