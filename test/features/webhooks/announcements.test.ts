import { expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { DAY, deliver, iso, lifecycle, ms, purchase, receive } from '../../support/billing.ts'
import { publishPlans } from '../../support/plans.ts'

const RECEIVER = 'https://example.com/hooks'

/** An app whose events are queued for an endpoint, and a function that returns the new ones. */
async function listen(day = 1) {
  const app = await createTestApp()
  app.clock.now = new Date(ms(day))
  await app.services.webhooks.endpoints.add({ url: RECEIVER, events: ['all'] })
  let seen = 0
  const news = async () => {
    const { webhookMessages } = app.services.db.tables
    const rows = await app.services.db.read.select().from(webhookMessages)
    const sorted = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(seen)
    seen = rows.length
    return sorted.map(({ type, data }) => ({ type, ...JSON.parse(data) }))
  }
  return { app, news }
}

async function announceDue(app: TestApp) {
  await app.services.accessStates.announceDue(new AbortController().signal)
}

test('announces a user from registration to deletion, each change once', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { user, accessToken: token } = await app.register('ann@example.com')
  const userId = user._id
  const [created, ...others] = await news()
  expect(others).toEqual([])
  expect(created).toMatchObject({
    type: 'user.created',
    userId,
    user: { _id: userId, email: 'ann@example.com', emailVerified: false, loginType: 'email' },
  })
  await app.ask('PATCH', '/api/user/profile/v1', { token, json: { profile: { name: 'Zoë' } } })
  expect(await news()).toMatchObject([
    { type: 'user.updated', userId, user: { profile: { name: 'Zoë' } } },
  ])
  const { directory } = app.services.users
  await directory.setEmailVerified(await directory.findById(userId), true)
  expect(await news()).toMatchObject([{ type: 'user.updated', user: { emailVerified: true } }])
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  expect(await news()).toEqual([{ type: 'user.deleted', userId, mergedInto: null }])
})

test('announces a guest who becomes a user, and one who is merged', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const startGuest = async () => (await app.ask('POST', '/api/auth/guest/v1')).json.response
  const guest = await startGuest()
  expect(await news()).toMatchObject([{ type: 'user.created', user: { loginType: 'guest' } }])
  const login = { email: 'ann@example.com', password: 'correct horse battery' }
  const token = guest.accessToken
  await app.ask('POST', '/api/auth/register/v1', { token, json: login })
  expect(await news()).toMatchObject([
    { type: 'user.updated', userId: guest.user._id, user: { loginType: 'email' } },
  ])
  const other = await startGuest()
  await news()
  await app.ask('POST', '/api/auth/login/v1', { token: other.accessToken, json: login })
  expect(await news()).toEqual([
    { type: 'user.deleted', userId: other.user._id, mergedInto: guest.user._id },
  ])
})

test('a refused change is not announced', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { accessToken: token } = await app.register()
  await news()
  const json = { profile: { avatarKey: 'not-mine' } }
  expect((await app.ask('PATCH', '/api/user/profile/v1', { token, json })).status).toBe(422)
  expect(await news()).toEqual([])
})

test('a patch that changes nothing is not announced', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { accessToken: token } = await app.register()
  await news()
  for (const json of [{}, { profile: { currency: 'usd' } }])
    await app.ask('PATCH', '/api/user/profile/v1', { token, json })
  expect(await news()).toEqual([])
})

test('announces access before and after, with the console’s explanation', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { user } = await app.register()
  await news()
  await deliver(app, purchase(user._id))
  const none = {
    active: false,
    plan: 'free',
    entitlements: [],
    productId: null,
    store: null,
    status: null,
    willRenew: false,
    expiresAt: null,
  }
  const bought = {
    active: true,
    plan: 'pro_month',
    entitlements: ['pro'],
    productId: 'prod_example_pro',
    store: 'APP_STORE',
    status: 'active',
    willRenew: true,
    expiresAt: iso(30),
  }
  const [changed, ...others] = await news()
  expect(others).toEqual([])
  expect(changed).toEqual({
    type: 'subscription.changed',
    userId: user._id,
    environment: 'production',
    previous: none,
    current: bought,
    reason: await app.services.timeline.explain(user._id, 'production'),
  })
  app.clock.now = new Date(ms(10))
  await deliver(app, lifecycle(user._id, 'CANCELLATION', 10, { expiration_day: 30 }))
  expect(await news()).toMatchObject([
    { previous: bought, current: { active: true, willRenew: false } },
  ])
  await deliver(app, lifecycle(user._id, 'CANCELLATION', 10, { id: 'again', expiration_day: 30 }))
  expect(await news()).toEqual([])
})

test('a purchase that ends and returns in one transaction announces its final state only', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { user } = await app.register()
  await receive(app, purchase(user._id))
  await news()
  const { eventInbox, db } = app.services
  const at = ms(2)
  app.clock.now = new Date(at + 1_000)
  const fields = { app_user_id: user._id, original_transaction_id: '1000', transaction_id: '1000' }
  const shared = { ...fields, product_id: 'prod_example_pro', entitlement_ids: ['pro'] }
  const times = { purchased_at_ms: ms(0), environment: 'PRODUCTION', store: 'APP_STORE' }
  await db.write(async (tx) => {
    const own = { ...shared, ...times }
    await eventInbox.recordOwnEvent(tx, 'EXPIRATION', at, { ...own, expiration_at_ms: at })
    const renewed = { purchased_at_ms: at + 1, transaction_id: '1001', expiration_at_ms: ms(60) }
    await eventInbox.recordOwnEvent(tx, 'RENEWAL', at + 1, { ...own, ...renewed })
  })
  expect(await news()).toMatchObject([
    { type: 'subscription.changed', previous: { active: true }, current: { expiresAt: iso(60) } },
  ])
})

test('access that ends by time alone is announced once', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { user } = await app.register()
  await deliver(app, purchase(user._id))
  await news()
  app.clock.now = new Date(ms(30) - 1)
  await announceDue(app)
  expect(await news()).toEqual([])
  app.clock.now = new Date(ms(30))
  await announceDue(app)
  expect(await news()).toMatchObject([
    {
      type: 'subscription.changed',
      previous: { active: true },
      current: { active: false, plan: 'free', status: 'expired', entitlements: [] },
    },
  ])
  await announceDue(app)
  app.clock.advance(100 * DAY)
  await announceDue(app)
  expect(await news()).toEqual([])
})

test('the end of a grace period is announced', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { user } = await app.register()
  await deliver(app, purchase(user._id))
  app.clock.now = new Date(ms(30))
  const grace = { expiration_day: 30, grace_period_expiration_at_ms: ms(46) }
  await deliver(app, lifecycle(user._id, 'BILLING_ISSUE', 30, grace))
  expect((await news()).at(-1)).toMatchObject({ current: { status: 'in_grace_period' } })
  app.clock.now = new Date(ms(46))
  await announceDue(app)
  expect(await news()).toMatchObject([{ current: { active: false } }])
})

test('a purchase that moves to another user announces both', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const [ann, eve] = [await app.register(), await app.register('eve@example.com')]
  await deliver(app, purchase(ann.user._id))
  await news()
  await deliver(app, {
    type: 'TRANSFER',
    at: 2,
    transferred_from: [ann.user._id],
    transferred_to: [eve.user._id],
  })
  const changes = await news()
  const byUser = Object.fromEntries(changes.map(({ userId, current }) => [userId, current.active]))
  expect(byUser).toEqual({ [ann.user._id]: false, [eve.user._id]: true })
})

test('test purchases are announced for the sandbox', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { user } = await app.register()
  await news()
  await deliver(app, purchase(user._id, { environment: 'SANDBOX' }))
  expect(await news()).toMatchObject([{ environment: 'sandbox', current: { active: true } }])
})

test('backfills purchases from before an upgrade silently, and announces their end', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const { user } = await app.register()
  await deliver(app, purchase(user._id))
  const { db, accessStates } = app.services
  await db.write(async (tx) => void (await tx.delete(db.tables.accessStates)))
  await news()
  await accessStates.followPlans(new AbortController().signal)
  expect(await news()).toEqual([])
  app.clock.now = new Date(ms(31))
  await announceDue(app)
  expect(await news()).toMatchObject([{ userId: user._id, current: { active: false } }])
})

test('a plan that includes another product changes the access of its buyers', async () => {
  const { app, news } = await listen()
  await using _closing = app
  const follow = () => app.services.accessStates.followPlans(new AbortController().signal)
  await follow()
  const { user } = await app.register()
  await deliver(app, purchase(user._id, { product_id: 'lost_product', entitlement_ids: [] }))
  await news()
  await follow()
  expect(await news()).toEqual([])
  const [free, month, year] = await app.services.plans.list()
  await app.services.plans.publish([free, { ...month, otherProductIds: ['lost_product'] }, year])
  await follow()
  expect(await news()).toMatchObject([
    { userId: user._id, previous: { plan: 'free' }, current: { plan: 'pro_month' } },
  ])
  await follow()
  expect(await news()).toEqual([])
})

test('a limit is announced when it is reached or first exceeded, once per period', async () => {
  const { app, news } = await listen()
  await using _closing = app
  await publishPlans(app, [{ code: 'free', limits: { exports: 10, scans: 5 } }])
  const { user } = await app.register()
  const ask = await serverClient(app)
  const use = (limit: string, amount: number) =>
    ask('POST', 'usage/v1', { json: { userId: user._id, limit, amount } })
  await news()
  await use('exports', 9)
  expect(await news()).toEqual([])
  await use('exports', 1)
  const [reached, ...others] = await news()
  expect(others).toEqual([])
  expect(reached).toMatchObject({
    type: 'usage.limit_reached',
    limit: 'exports',
    max: 10,
    used: 10,
  })
  await use('exports', 1)
  await use('scans', 6)
  await use('scans', 7)
  expect(await news()).toMatchObject([{ limit: 'scans', max: 5, used: 0 }])
  app.clock.advance(40 * DAY)
  await use('exports', 10)
  expect(await news()).toMatchObject([{ limit: 'exports', used: 10 }])
})
