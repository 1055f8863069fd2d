import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { runCommand } from '../../../support/commands.ts'
import { publishPlans } from '../../../support/plans.ts'
import { createStripeWorld, plan, type StripeWorld } from '../../../support/stripe/world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Acts once, before Stripe handles the next request that begins with `start`. */
function actBefore({ stripe }: StripeWorld, start: string, act: () => Promise<void>) {
  const { respond } = stripe.api
  stripe.api.respond = async (request) => {
    if (`${request.method} ${new URL(request.url).pathname}`.startsWith(start)) {
      stripe.api.respond = respond
      await act()
    }
    return respond(request)
  }
}

/** Holds the next request that begins with `start`. */
function holdRequest(world: StripeWorld, start: string) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  actBefore(world, start, () => {
    reached.resolve()
    return released.promise
  })
  return { isReached: reached.promise, release: released.resolve }
}

async function deleteUser({ app, freshToken }: StripeWorld) {
  const json = { password: 'correct horse battery' }
  const token = await freshToken()
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token, json })).status).toBe(200)
}

test.each([
  'GET /v1/prices',
  'POST /v1/customers',
  'GET /v1/subscriptions',
  'POST /v1/checkout/sessions',
])('a user who is deleted before %s cannot pay, and leaves no customer', async (request) => {
  await using world = await createStripeWorld({}, { STRIPE_ON_USER_DELETION: 'cancel' })
  actBefore(world, request, () => deleteUser(world))
  const reply = await world.checkOut()
  await world.drain()
  expect(reply.json.response).toBeUndefined()
  const { stripeCheckouts, stripeObjects } = world.app.services.db.tables
  for (const table of [stripeCheckouts, stripeObjects])
    expect(await world.app.services.db.read.$count(table)).toBe(0)
  const ask = (method: string) =>
    world.stripe.api.requests.filter((one) => one.request.startsWith(method)).length
  if (request.includes('customers') || request.includes('prices'))
    expect(ask('DELETE /v1/customers/')).toBe(ask('POST /v1/customers'))
})

test('a page that is paid while another one is requested sells no second subscription', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut()).json.response
  actBefore(world, `GET /v1/checkout/sessions/${sessionId}`, async () => {
    world.stripe.completeCheckout(sessionId)
    await world.drain()
  })
  expect((await world.checkOut('pro', { quantity: 2 })).json.code).toBe('already_subscribed')
})

async function submit({ ask }: StripeWorld, sessionIds: string[], as?: string) {
  const purchases = sessionIds.map((sessionId) => ({ store: 'stripe', sessionId }))
  const { status, json } = await ask('/api/user/purchases/v1', { purchases }, as)
  return status === 200 ? json.response.results : status
}

test('a first bank debit gives no access, whatever status Stripe reports', async () => {
  await using world = await createStripeWorld({ account: { statusDuringDebit: 'active' } })
  const { sessionId } = (await world.checkOut()).json.response
  const bought = world.stripe.completeCheckout(sessionId, 'debit')
  await world.drain()
  expect(bought?.status()).toBe('active')
  expect(await submit(world, [sessionId])).toMatchObject([{ outcome: 'pending' }])
  world.stripe.failDebit(sessionId)
  await world.drain()
  expect(bought?.status()).toBe('past_due')
  expect(await world.list()).toEqual([])
  bought?.replaceCard('pays')
  await world.drain()
  expect(await world.list()).toMatchObject([{ status: 'active' }])
})

test('a product that replaces an unpaid one does not get a new grace period', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  bought.failToRenew()
  await world.drain()
  const [{ effectiveEndAt: end } = {}] = await world.list()
  await world.advance(10 * DAY)
  bought.addItem(world.prices.team)
  bought.removeItem(0)
  await world.drain()
  await world.drain()
  expect(await world.list()).toMatchObject([
    { status: 'in_grace_period', effectiveEndAt: end },
    { status: 'expired' },
  ])
})

test('an invalid subscription is recorded once a day', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  Object.assign(bought.object, { status: 'frozen' })
  await world.app.services.stores.stripe?.catchUpAll('PRODUCTION')
  for (let hours = 0; hours < 3; hours += 0.5) await world.advance(30 * MINUTE)
  const { billingEvents } = world.app.services.db.tables
  const isUnreadable = eq(billingEvents.type, 'STRIPE_UNREADABLE')
  expect(await world.app.services.db.read.$count(billingEvents, isUnreadable)).toBe(1)
})

test('a refund of an invalid subscription is queried less and less often', async () => {
  await using world = await createStripeWorld({ probabilities: { lost: 1 } })
  const bought = world.stripe.subscribe({ price: world.prices.pro })
  bought.refund()
  Object.assign(bought.object, { status: 'frozen' })
  await world.app.services.stores.stripe?.catchUp('PRODUCTION')
  for (let minutes = 0; minutes < 60; minutes++) await world.advance(MINUTE)
  const asked = world.stripe.api.requests.filter(({ request }) => request.includes('/charges/'))
  expect(asked.length).toBeLessThan(10)
})

test('guests who submit another user’s session share a limit', async () => {
  await using world = await createStripeWorld({}, { RATE_LIMITS: 'on' })
  const { sessionId } = await world.buy()
  const submitAsGuests = async () => {
    for (let guests = 0; guests < 3; guests++) {
      const { json } = await world.app.ask('POST', '/api/auth/guest/v1', { json: {} })
      for (let requests = 0; requests < 5; requests++) {
        const sessions = Array<string>(20).fill(sessionId)
        if ((await submit(world, sessions, json.response.accessToken)) === 429) return true
      }
    }
    return false
  }
  expect(await submitAsGuests()).toBe(true)
})

test('another user cannot keep the page of a deleted user open', async () => {
  await using world = await createStripeWorld({}, { STRIPE_ON_USER_DELETION: 'cancel' })
  world.app.expectErrors()
  const { accessToken } = await world.app.register()
  const { sessionId } = (await world.checkOut()).json.response
  world.stripe.api.isDown = true
  await deleteUser(world)
  await submit(world, [sessionId], accessToken)
  world.stripe.api.isDown = false
  await world.advance(20 * MINUTE)
  expect(world.stripe.session(sessionId).status).toBe('expired')
})

test('a page that is paid while its user is deleted is cancelled', async () => {
  await using world = await createStripeWorld({}, { STRIPE_ON_USER_DELETION: 'cancel' })
  const { sessionId } = (await world.checkOut()).json.response
  await deleteUser(world)
  actBefore(world, `POST /v1/checkout/sessions/${sessionId}/expire`, async () => {
    world.stripe.completeCheckout(sessionId)
  })
  await world.drain()
  const { subscription } = world.stripe.session(sessionId)
  expect(world.stripe.subscription(String(subscription)).status()).toBe('canceled')
})

test('events that are read again do not store the id of a deleted user', async () => {
  await using world = await createStripeWorld()
  await world.buy()
  await deleteUser(world)
  await world.drain()
  await world.app.services.stores.stripe?.catchUp('PRODUCTION')
  await world.drain()
  const { stripeObjects } = world.app.services.db.tables
  const rows = await world.app.services.db.read.select().from(stripeObjects)
  expect(JSON.stringify(rows)).not.toContain(world.userId)
})

test('no message shows a part of the key', async () => {
  await using world = await createStripeWorld()
  const { live } = world.stripe.keys
  world.stripe.keys.expire(live.restricted)
  const { printed } = await runCommand(world.app, 'stores check')
  expect(printed).toContain('Expired API Key provided')
  expect(printed).not.toContain(live.restricted.slice(-4))
})

test('a customer’s running subscription is cancelled, not an earlier one', async () => {
  await using world = await createStripeWorld()
  const first = await world.buy()
  first.cancel()
  await world.drain()
  const second = await world.buy()
  await runCommand(world.app, 'purchases cancel', [second.customer], { reason: 'fraud' })
  expect(await world.list()).toMatchObject([{ active: true, willRenew: false }, { active: false }])
})

test('an open page offers no trial to a user who has had one since', async () => {
  await using world = await createStripeWorld()
  const { pro } = world.prices
  await publishPlans(world.app, [{ code: 'free' }, plan('pro', pro.id, { trialDays: 7 })])
  const first = (await world.checkOut()).json.response
  expect(first.trialDays).toBe(7)
  const { customer } = world.stripe.session(first.sessionId)
  const elsewhere = { price: pro, customer: world.stripe.customer(String(customer)), trialDays: 7 }
  const bought = world.stripe.subscribe(elsewhere)
  bought.cancel()
  await world.drain()
  expect((await world.checkOut()).json.response).toMatchObject({ trialDays: 0 })
  expect(world.stripe.session(first.sessionId).status).toBe('expired')
})

test('a page that opens while another tab looks for open pages leaves only one open', async () => {
  await using world = await createStripeWorld()
  const { db } = world.app.services
  const post = holdRequest(world, 'POST /v1/checkout/sessions')
  const first = world.checkOut('pro')
  await post.isReached
  const list = holdRequest(world, 'GET /v1/subscriptions')
  const second = world.checkOut('team')
  await list.isReached
  // The page of the first tab is stored after the second one has looked for it.
  const writing = Promise.withResolvers<void>()
  const held = db.write(() => writing.promise)
  post.release()
  list.release()
  writing.resolve()
  await held
  const replies = await Promise.all([first, second])
  const sessions = replies.flatMap(({ json }) => json.response?.sessionId ?? [])
  const isOpen = (id: string) => world.stripe.session(id).status === 'open'
  expect(sessions.filter(isOpen).length).toBe(1)
})
