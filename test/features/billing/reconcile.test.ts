import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, iso, lifecycle, ms, purchase } from '../../support/billing.ts'
import { fault } from '../../support/fault.ts'
import { reportOf, serveProvider } from '../../support/subscriber-api.ts'

const PATH = '/api/user/subscription/v1'

test(`records a missed renewal that the provider reports ${fault(99)}`, async () => {
  const asked: string[] = []
  using provider = serveProvider((request) => {
    asked.push(`${new URL(request.url).pathname} ${request.headers.get('authorization')}`)
    return Response.json(reportOf(40, 30, 60))
  })
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  app.clock.now = new Date(ms(1))
  const { accessToken, refreshToken, user } = await app.register()
  expect(accessToken).toBeTruthy()
  await deliver(app, purchase(user._id))
  app.clock.now = new Date(ms(40))
  const { response: session } = (
    await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  ).json
  expect((await read(app, session.accessToken)).json.response.entitlements).toMatchObject([
    { active: false },
  ])
  const { reconcile } = app.services
  const first = await reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect(first).toMatchObject({
    customers: 1,
    corrected: [`${user._id} prod_example_pro`],
    failed: [],
  })
  expect(asked).toEqual([`/v1/subscribers/${user._id} Bearer sk_1`])
  expect((await read(app, session.accessToken)).json.response.entitlements).toMatchObject([
    { active: true, expiresAt: iso(60) },
  ])
  const { events } = await app.services.eventSearch.find({ type: 'HOMEPORT_RECONCILED' })
  expect(events).toHaveLength(1)
  const again = await reconcile?.reconcileUser(user._id, AbortSignal.timeout(5_000))
  expect(again).toMatchObject({ customers: 1, corrected: [] })
  expect(await reconcile?.reconcileUser('unknown', AbortSignal.timeout(5_000))).toMatchObject({
    customers: 0,
  })
  const { changed } = await app.services.rebuildBilling(AbortSignal.timeout(5_000))
  expect(changed).toEqual([])
})

test('a purchase whose transfer at the provider was lost moves to its new owner', async () => {
  using provider = serveProvider(() => Response.json(reportOf(10, 0, 30)))
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  const { ann, bob } = await buyAsAnn(app)
  await deliver(app, lifecycle(bob.user._id, 'SUBSCRIBER_ALIAS', 1, { aliases: ['anonymous'] }))
  const report = await app.services.reconcile?.reconcileUser(
    bob.user._id,
    AbortSignal.timeout(5_000),
  )
  expect(report?.corrected).toHaveLength(1)
  const subscriptionsOf = async (token: string) =>
    (await read(app, token)).json.response.subscriptions
  expect(await subscriptionsOf(bob.accessToken)).toMatchObject([{ status: 'active' }])
  expect(await subscriptionsOf(ann.accessToken)).toEqual([])
})

/** Two users, and a purchase of the first one. */
async function buyAsAnn(app: TestApp) {
  app.clock.now = new Date(ms(1))
  const [ann, bob] = [await app.register('ann@example.com'), await app.register('bob@example.com')]
  const ids = { transaction_id: '1001', original_transaction_id: '1000' }
  await deliver(app, { ...purchase(ann.user._id), ...ids })
  return { ann, bob }
}

function read(app: TestApp, token: string, query = '') {
  return app.ask('GET', PATH + query, { token })
}

test.each([
  ['in its first period', '1000'],
  ['after a renewal', '1003'],
])('the former product of a purchase that was upgraded %s changes nothing', async (_, formerId) => {
  const period = { store: 'app_store', is_sandbox: false, period_type: 'normal' }
  const reported = {
    pro_month: {
      ...period,
      purchase_date: iso(0),
      expires_date: iso(10),
      store_transaction_id: formerId,
    },
    pro_year: {
      ...period,
      purchase_date: iso(10),
      expires_date: iso(375),
      store_transaction_id: '1009',
    },
  }
  const entitlements = { pro: { product_identifier: 'pro_year' } }
  const subscriber = { entitlements, subscriptions: reported }
  using provider = serveProvider(() => Response.json({ request_date_ms: ms(40), subscriber }))
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  const { user } = await app.register()
  app.clock.now = new Date(ms(40))
  const [month, year] = [{ product_id: 'pro_month' }, { product_id: 'pro_year' }]
  await deliver(app, purchase(user._id, month))
  const renewal = { ...month, transaction_id: '1003', purchased_day: 5, expiration_day: 35 }
  if (formerId === '1003') await deliver(app, lifecycle(user._id, 'RENEWAL', 5, renewal))
  const upgrade = { ...year, transaction_id: '1009', purchased_day: 10, expiration_day: 375 }
  await deliver(app, lifecycle(user._id, 'RENEWAL', 10, upgrade))
  const report = await app.services.reconcile?.reconcileUser(user._id, AbortSignal.timeout(5_000))
  expect(report).toMatchObject({ corrected: [], failed: [] })
})

test('finds a payment that succeeded after its subscription had ended', async () => {
  using provider = serveProvider(() => Response.json(reportOf(40, 38, 68)))
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  app.clock.now = new Date(ms(33))
  const ids = { transaction_id: '1000', original_transaction_id: '1000' }
  await deliver(app, { ...purchase('ann'), ...ids })
  await deliver(app, lifecycle('ann', 'BILLING_ISSUE', 30, { expiration_at_ms: ms(30) }))
  const reason = { expiration_reason: 'BILLING_ERROR', expiration_at_ms: ms(30) }
  await deliver(app, lifecycle('ann', 'EXPIRATION', 32, reason))
  app.clock.now = new Date(ms(40))
  const report = await app.services.reconcile?.reconcileOverdue(AbortSignal.timeout(5_000))
  expect(report?.corrected).toEqual(['ann prod_example_pro'])
})

test('a prepaid purchase whose expiration event was lost is corrected once', async () => {
  const report = reportOf(40, 1, 31)
  for (const subscription of Object.values(report.subscriber.subscriptions))
    Object.assign(subscription, { period_type: 'prepaid' })
  using provider = serveProvider(() => Response.json(report))
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  app.clock.now = new Date(ms(40))
  await deliver(app, purchase('ann'))
  const corrected = async () =>
    (await app.services.reconcile?.reconcileUser('ann', AbortSignal.timeout(5_000)))?.corrected
  expect(await corrected()).toHaveLength(1)
  expect(await corrected()).toEqual([])
})

test('times reported in whole seconds do not count as a difference', async () => {
  using provider = serveProvider(() => Response.json(reportOf(40, 1, 31)))
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  app.clock.now = new Date(ms(40))
  await deliver(app, purchase('ann', { expiration_at_ms: ms(31) + 123 }))
  const report = await app.services.reconcile?.reconcileUser('ann', AbortSignal.timeout(5_000))
  expect(report).toMatchObject({ customers: 1, corrected: [] })
})

test('does not confuse a new purchase of a product on Google Play with the previous one', async () => {
  const reported = {
    pro: {
      store: 'play_store',
      is_sandbox: false,
      period_type: 'normal',
      purchase_date: iso(35),
      expires_date: iso(65),
      store_transaction_id: 'GPA.2222-2222-2222-22222..0',
    },
  }
  const subscriber = {
    entitlements: { pro: { product_identifier: 'pro' } },
    subscriptions: reported,
  }
  using provider = serveProvider(() => Response.json({ request_date_ms: ms(40), subscriber }))
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  const { user } = await app.register()
  app.clock.now = new Date(ms(40))
  const former = { store: 'PLAY_STORE', product_id: 'pro' }
  const id = 'GPA.1111-1111-1111-11111'
  const ids = { transaction_id: id, original_transaction_id: id }
  await deliver(app, purchase(user._id, { ...former, ...ids }))
  await app.services.reconcile?.reconcileUser(user._id, AbortSignal.timeout(5_000))
  const { subscriptions } = app.services.db.tables
  const rows = await app.services.db.read.select().from(subscriptions)
  expect(rows.map(({ purchaseKey }) => purchaseKey).toSorted()).toEqual([
    'PRODUCTION|GPA.1111-1111-1111-11111',
    'PRODUCTION|GPA.2222-2222-2222-22222',
  ])
  const again = await app.services.reconcile?.reconcileUser(user._id, AbortSignal.timeout(5_000))
  expect(again).toMatchObject({ corrected: [] })
})

test('a correction leaves a shared customer’s purchases with the user who has them', async () => {
  const reported = {
    prod_example_pro: {
      store: 'app_store',
      is_sandbox: false,
      period_type: 'normal',
      purchase_date: iso(30),
      expires_date: iso(60),
      store_transaction_id: '1001',
    },
  }
  const subscriber = { entitlements: {}, subscriptions: reported }
  using provider = serveProvider(() => Response.json({ request_date_ms: ms(40), subscriber }))
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  const [first, second] = [await app.register(), await app.register('bob@example.com')]
  app.clock.now = new Date(ms(40))
  await deliver(app, purchase(first.user._id))
  await deliver(app, {
    ...lifecycle(second.user._id, 'RENEWAL', 5, { transaction_id: '1002', expiration_day: 35 }),
    aliases: [first.user._id],
  })
  const holder = async () => {
    const { subscription } = app.services
    const heldBy = async (id: string) => (await subscription.findCustomer(id))?.heldBy ?? id
    return [await heldBy(first.user._id), await heldBy(second.user._id)]
  }
  const before = await holder()
  expect(before).toEqual([second.user._id, second.user._id])
  const report = await app.services.reconcile?.reconcileUser(
    first.user._id,
    AbortSignal.timeout(5_000),
  )
  expect(report?.corrected).toHaveLength(1)
  expect(await holder()).toEqual(before)
})
