import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, iso, lifecycle, ms, purchase } from '../../support/billing.ts'
import { fault } from '../../support/fault.ts'

const PATH = '/api/user/subscription/v1'

test('a paying user sees entitlement, purchase, plan and limits; others see the free plan', async () => {
  await using app = await startAt(1)
  const { accessToken, user } = await app.register()
  const before = (await read(app, accessToken)).json.response
  expect(before).toMatchObject({ environment: 'production', entitlements: [], subscriptions: [] })
  expect([before.plan.code, before.limits.appLimit]).toEqual(['free', 1])

  await deliver(app, purchase(user._id, { price_id: 'price_example_pro_year' }))
  const { json } = await read(app, accessToken)
  expect(json.response).toMatchObject({
    environment: 'production',
    entitlements: [
      {
        id: 'pro',
        active: true,
        expiresAt: iso(30),
        gracePeriodExpiresAt: null,
        productId: 'prod_example_pro',
        store: 'APP_STORE',
        periodType: 'NORMAL',
        willRenew: true,
      },
    ],
    subscriptions: [
      {
        productId: 'prod_example_pro',
        status: 'active',
        purchasedAt: iso(0),
        effectiveEndAt: iso(30),
      },
    ],
    plan: { code: 'pro_year', name: 'Pro, yearly' },
    limits: { appLimit: 10, seatLimit: 3 },
  })
  const german = await app.ask('GET', PATH, {
    token: accessToken,
    headers: { 'accept-language': 'de-CH' },
  })
  expect(german.json.response.plan.name).toBe('Pro, jährlich')
})

test.each([
  [{ price_id: 'price_example_pro_month', product_id: 'other' }, 'pro_month'],
  [{ product_id: 'prod_example_pro' }, 'pro_month'],
  [{ product_id: 'prod_example_pro:yearly', store: 'PLAY_STORE' }, 'pro_month'],
  [{ product_id: 'other', entitlement_ids: ['pro_year'] }, 'pro_year'],
  [{ product_id: 'other', entitlement_ids: ['unknown'] }, 'free'],
])('the purchase %j belongs to the plan %s', async (fields, code) => {
  await using app = await startAt(1)
  const { accessToken, user } = await app.register()
  await deliver(app, purchase(user._id, fields))
  expect((await read(app, accessToken)).json.response.plan.code).toBe(code)
})

test(`separates test purchases and can hide them ${fault(93)}`, async () => {
  await using app = await startAt(1)
  const { accessToken, user } = await app.register()
  await deliver(app, purchase(user._id, { environment: 'SANDBOX' }))
  expect((await read(app, accessToken)).json.response.entitlements).toEqual([])
  const sandbox = await read(app, accessToken, '?environment=sandbox')
  expect(sandbox.json.response).toMatchObject({
    environment: 'sandbox',
    entitlements: [{ active: true }],
  })
  expect((await read(app, accessToken, '?environment=other')).status).toBe(422)
  await using hidden = await createTestApp({ BILLING_SANDBOX: 'ignore' })
  const token = (await hidden.register()).accessToken
  expect((await read(hidden, token, '?environment=sandbox')).status).toBe(404)
})

test(`a purchase by an anonymous id gives access once an event names the user ${fault(94)}`, async () => {
  await using app = await startAt(1)
  const { accessToken, user } = await app.register()
  await deliver(app, purchase('$RCAnonymousID:x'))
  expect((await read(app, accessToken)).json.response.entitlements).toEqual([])
  await deliver(app, {
    ...lifecycle(user._id, 'UNCANCELLATION', 0.5),
    original_app_user_id: '$RCAnonymousID:x',
    aliases: ['$RCAnonymousID:x'],
  })
  expect((await read(app, accessToken)).json.response.entitlements).toMatchObject([
    { active: true },
  ])
})

test('if a customer has two users, the one named by the latest event has access', async () => {
  await using app = await startAt(2)
  const ann = await app.register()
  const bob = await app.register()
  await deliver(app, purchase(ann.user._id))
  await deliver(app, {
    ...lifecycle(bob.user._id, 'UNCANCELLATION', 1),
    aliases: [ann.user._id, bob.user._id],
  })
  expect((await read(app, ann.accessToken)).json.response.entitlements).toEqual([])
  expect((await read(app, bob.accessToken)).json.response.entitlements).toMatchObject([
    { active: true },
  ])
})

test('a guest who registers keeps their purchases', async () => {
  await using app = await startAt(1)
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  await deliver(app, purchase(guest.user._id))
  const json = { email: 'ann@example.com', password: 'a long enough one' }
  const made = await app.ask('POST', '/api/auth/register/v1', { token: guest.accessToken, json })
  const { response } = (await read(app, made.json.response.accessToken)).json
  expect(response.entitlements).toMatchObject([{ id: 'pro', active: true }])
})

test('when one of a customer’s two users is deleted, the other keeps the purchases', async () => {
  await using app = await startAt(2)
  const ann = await app.register()
  const bob = await app.register()
  await deliver(app, { ...purchase(bob.user._id), aliases: [ann.user._id] })
  const { accessToken: token } = ann
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token })).status).toBe(200)
  await app.services.backlog.flush()
  expect((await read(app, bob.accessToken)).json.response.entitlements).toMatchObject([
    { active: true },
  ])
})

test('an internal event about a deleted user is pseudonymized', async () => {
  await using app = await startAt(2)
  const { accessToken: token, user } = await app.register()
  await deliver(app, purchase(user._id))
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  const late = { app_user_id: user._id, transaction_id: '1000', expiration_at_ms: ms(40) }
  const { db, eventInbox } = app.services
  await db.write((tx) => eventInbox.recordOwnEvent(tx, 'HOMEPORT_RECONCILED', ms(2), late))
  expect(JSON.stringify(await log(app))).not.toContain(user._id)
})

test('deleting an account pseudonymizes earlier and later events and keeps the purchases', async () => {
  await using app = await startAt(2)
  const { accessToken: token, user } = await app.register()
  const ids = { original_app_user_id: '$RCAnonymousID:x', aliases: ['$RCAnonymousID:x', user._id] }
  const attributes = { subscriber_attributes: { $email: { value: 'canary@example.com' } } }
  await deliver(app, { ...purchase(user._id), ...ids, ...attributes })
  await deliver(app, {
    type: 'TRANSFER',
    at: 0.5,
    transferred_from: ['z'],
    transferred_to: [user._id],
  })
  const hashes = async () => (await log(app)).map(({ bodyHash }) => bodyHash).toSorted()
  const before = await hashes()
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token })).status).toBe(200)
  await deliver(app, {
    ...lifecycle(user._id, 'CANCELLATION', 1),
    ...ids,
    ...attributes,
    id: 'later',
  })
  const { db } = app.services
  // On a slow machine the fold continues after the response.
  await app.services.backlog.flush()
  const everything = JSON.stringify([
    await log(app),
    await db.read.select().from(db.tables.billingAliases),
    await db.read.select().from(db.tables.subscriptions),
    await db.read.select().from(db.tables.transferIds),
  ])
  for (const personal of [user._id, '$RCAnonymousID:x', 'canary@example.com']) {
    expect(everything).not.toContain(personal)
  }
  expect((await hashes()).length).toBe(before.length + 1)
  expect(await hashes()).toEqual(expect.arrayContaining(before))
  const [stored] = await db.read.select().from(db.tables.subscriptions)
  expect(stored?.customerId).toStartWith('deleted:')
  const report = await app.services.rebuildBilling(AbortSignal.timeout(5_000))
  expect(report.changed).toEqual([])
})

test(`keeps an event that cannot be folded, returns 200 and retries it without blocking others ${fault(98)}`, async () => {
  await using app = await startAt(1)
  app.expectErrors()
  const { accessToken, user } = await app.register()
  const { db, eventFolding } = app.services
  // An invalid state, which only a bug could have stored.
  await deliver(app, purchase(user._id))
  await db.write(
    async (tx) =>
      void (await tx
        .update(db.tables.subscriptions)
        .set({ state: { line: {}, last: undefined as never, tail: { count: 1, names: [] } } })),
  )
  expect(await deliver(app, { ...lifecycle(user._id, 'UNCANCELLATION', 0.4), id: 'poison' })).toBe(
    'ok',
  )
  expect((await app.services.eventSearch.find({ outcome: 'failed' })).events).toMatchObject([
    { eventId: 'poison', outcome: 'failed' },
  ])
  const other = await app.register()
  await deliver(
    app,
    purchase(other.user._id, { original_transaction_id: '2', transaction_id: '2' }),
  )
  expect((await read(app, other.accessToken)).json.response.entitlements).toMatchObject([
    { active: true },
  ])
  await db.write(async (tx) => void (await tx.delete(db.tables.subscriptions)))
  expect(await eventFolding.retryFailed(AbortSignal.timeout(5_000))).toBe(1)
  expect((await app.services.eventSearch.find({ outcome: 'failed' })).events).toEqual([])
  expect((await read(app, accessToken)).json.response.entitlements).toMatchObject([
    { active: true },
  ])
})

test(`recognizes a duplicate after a year ${fault(87)}`, async () => {
  await using app = await startAt(1)
  const { user } = await app.register()
  const event = { ...purchase(user._id), id: 'E' }
  await deliver(app, event)
  app.clock.advance(365 * 86_400_000)
  expect(await deliver(app, event)).toBe('duplicate')
})

async function startAt(day: number, environment: Record<string, string> = {}) {
  const app = await createTestApp(environment)
  app.clock.now = new Date(ms(day))
  return app
}

function read(app: TestApp, token: string, query = '') {
  return app.ask('GET', PATH + query, { token })
}

function log(app: TestApp) {
  return app.services.db.read
    .select()
    .from(app.services.db.tables.billingEvents)
    .then((rows) => rows.map((row) => ({ ...row, body: row.body.toString() })))
}

test('negotiates the language of plan texts as for the catalogue', async () => {
  await using app = await startAt(1)
  const { accessToken } = await app.register()
  const [first, ...rest] = await app.services.plans.list()
  const texts = { en: 'Free', de: 'Gratis', 'pt-BR': 'Grátis' }
  await app.services.plans.publish([{ ...first, name: texts }, ...rest])
  for (const [tag, language, name] of [
    ['pt', 'pt-BR', 'Grátis'],
    ['pt-PT', 'pt-BR', 'Grátis'],
    ['de-CH', 'de', 'Gratis'],
    ['fr', 'en', 'Free'],
  ] as const) {
    const headers = { 'accept-language': tag }
    const plans = await app.ask('GET', '/api/user/pricing_plans/v1', { headers })
    const subscriptionReply = await app.ask('GET', PATH, { token: accessToken, headers })
    expect(plans.json.response[0].name).toBe(name)
    expect(subscriptionReply.json.response.plan.name).toBe(name)
    expect(subscriptionReply.headers.get('content-language')).toBe(language)
    expect(subscriptionReply.headers.get('vary')).toContain('Accept-Language')
    const asked = await read(app, accessToken, `?lang=${tag}`)
    expect(asked.json.response.plan.name).toBe(name)
  }
})

test('with BILLING_SANDBOX=ignore, records sandbox events but does not apply them', async () => {
  await using app = await startAt(1, { BILLING_SANDBOX: 'ignore' })
  const { accessToken, user } = await app.register()
  const sandbox = purchase(user._id, { environment: 'SANDBOX' })
  expect(await deliver(app, { ...sandbox, id: 'S1' })).toBe('ignored')
  expect(await deliver(app, { ...sandbox, id: 'S1' })).toBe('duplicate')
  expect(await deliver(app, purchase(user._id))).toBe('ok')
  const { subscriptions } = app.services.db.tables
  const stored = await app.services.db.read.select().from(subscriptions)
  expect(stored.map(({ environment }) => environment)).toEqual(['PRODUCTION'])
  expect((await app.services.rebuildBilling(new AbortController().signal)).changed).toEqual([])
  expect(await app.services.db.read.$count(subscriptions)).toBe(1)
  expect((await read(app, accessToken)).json.response.entitlements).toHaveLength(1)
})
