import { expect, test } from 'bun:test'
import { deliver } from '../../../support/billing.ts'
import { publishPlans } from '../../../support/plans.ts'
import { createStripeWorld, plan, SHOP, type StripeWorld } from '../../../support/stripe/world.ts'

const DAY = 24 * 3_600_000
const ALREADY: [number, string] = [409, 'already_subscribed']

type Reply = Awaited<ReturnType<StripeWorld['checkOut']>>

function outcomeOf({ status, json }: Reply): [number, string] {
  return [status, json.code]
}

function countRequests({ stripe }: StripeWorld, request: string): number {
  return stripe.api.requests.filter((one) => one.request === request).length
}

function submit({ ask }: StripeWorld, sessionId: string, as?: string) {
  const purchases = [{ store: 'stripe', sessionId }]
  return ask('/api/user/purchases/v1', { purchases }, as)
}

/** Deletes a customer, as in the Dashboard. */
async function deleteAtStripe({ stripe }: StripeWorld, customer: string) {
  const headers = { authorization: `Bearer ${stripe.environment.STRIPE_API_KEY}` }
  const url = `${stripe.url}/v1/customers/${customer}`
  expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(200)
}

test('a user who pays on the checkout page has the plan', async () => {
  await using world = await createStripeWorld()
  const reply = await world.checkOut('pro')
  const { sessionId, ...response } = reply.json.response
  expect(response).toMatchObject({ trialDays: 0, overlapUntil: null })
  world.stripe.completeCheckout(sessionId)
  // Stripe's page sends the customer back once the webhook has responded.
  await world.stripe.deliver()
  expect(await world.list()).toMatchObject([
    { store: 'STRIPE', status: 'active', willRenew: true, priceId: world.prices.pro.id },
  ])
  const { json } = await world.app.ask('GET', '/api/user/subscription/v1', { token: world.token })
  expect(json.response.entitlements).toMatchObject([{ id: 'pro', active: true }])
})

test('a submission before any event queries Stripe', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut()).json.response
  world.stripe.completeCheckout(sessionId)
  const { json } = await submit(world, sessionId)
  expect(json.response.results).toMatchObject([{ outcome: 'bound', environment: 'production' }])
  expect(json.response.subscription.subscriptions).toMatchObject([{ status: 'active' }])
  expect((await submit(world, sessionId)).json.response.results).toMatchObject([
    { outcome: 'known' },
  ])
})

test('another user’s session is refused, even for a take-over', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = await world.buy()
  const { accessToken } = await world.app.register()
  const purchases = [{ store: 'stripe', sessionId }]
  const { json } = await world.ask(
    '/api/user/purchases/v1',
    { purchases, takeOver: true },
    accessToken,
  )
  expect(json.response.results).toMatchObject([
    { outcome: 'refused', code: 'purchase_of_another', canTakeOverAt: null },
  ])
  expect(json.response.subscription.subscriptions).toEqual([])
})

test('a session that was not paid, or that does not exist, gives no access', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut()).json.response
  for (const id of [sessionId, 'cs_live_invented']) {
    const { json } = await submit(world, id)
    expect(json.response.results).toMatchObject([{ outcome: 'refused', code: 'purchase_gone' }])
  }
})

test('while Stripe does not respond, a session is being checked', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut()).json.response
  world.stripe.completeCheckout(sessionId)
  world.stripe.api.isDown = true
  expect((await submit(world, sessionId)).json.response.results).toMatchObject([
    { outcome: 'checking' },
  ])
})

test('a bank debit is pending until it is settled', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut()).json.response
  world.stripe.completeCheckout(sessionId, 'debit')
  const submitted = await submit(world, sessionId)
  expect(submitted.json.response.results).toMatchObject([{ outcome: 'pending' }])
  expect(outcomeOf(await world.checkOut())).toEqual(ALREADY)
  world.stripe.settleDebit(sessionId)
  await world.drain()
  expect((await submit(world, sessionId)).json.response.results).toMatchObject([
    { outcome: 'known' },
  ])
})

test('simultaneous clicks, even in two tabs, get the same page', async () => {
  await using world = await createStripeWorld()
  world.stripe.api.delayMs = 50
  const replies = await Promise.all([1, 2, 3].map(() => world.checkOut()))
  expect(new Set(replies.map(({ json }) => json.response.sessionId)).size).toBe(1)
  expect((await world.checkOut()).json.response.sessionId).toBe(replies[0]?.json.response.sessionId)
  const { customers } = world.app.services.stores.stripe ?? {}
  const known = await customers?.list(world.app.services.db.read, world.userId, 'PRODUCTION')
  expect(known?.length).toBe(1)
})

test('choosing another plan in a second tab closes the page of the first one', async () => {
  await using world = await createStripeWorld()
  const first = (await world.checkOut('pro')).json.response.sessionId
  expect(outcomeOf(await world.checkOut('team'))).toEqual([200, 'ok'])
  expect(world.stripe.session(first).status).toBe('expired')
})

test('two plans in two tabs at once leave one page open', async () => {
  await using world = await createStripeWorld()
  world.stripe.api.delayMs = 50
  const replies = await Promise.all([world.checkOut('pro'), world.checkOut('team')])
  // The second request closes the page of the first, or fails with a conflict.
  const sessions = replies.flatMap(({ json }) => json.response?.sessionId ?? [])
  const isOpen = (id: string) => world.stripe.session(id).status === 'open'
  expect(sessions.filter(isOpen).length).toBe(1)
  const created = countRequests(world, 'POST /v1/checkout/sessions')
  const isClosing = ({ request }: { request: string }) => request.endsWith('/expire')
  expect(created - world.stripe.api.requests.filter(isClosing).length).toBe(1)
})

test('a lost response is repeated with the same key, and gives the same session', async () => {
  await using world = await createStripeWorld()
  const { api } = world.stripe
  world.app.expectErrors()
  api.faults = [{ kind: 'cut', on: 'POST /v1/checkout/sessions', afterEffect: true }]
  expect(outcomeOf(await world.checkOut())).toEqual([503, 'unavailable'])
  expect(outcomeOf(await world.checkOut())).toEqual([200, 'ok'])
  const created = api.requests.filter(({ request }) => request === 'POST /v1/checkout/sessions')
  expect(created.length).toBe(2)
  expect(created[0]?.idempotencyKey).toBe(created[1]?.idempotencyKey as string)
})

test('a customer whose creation got no response is created once', async () => {
  await using world = await createStripeWorld()
  world.app.expectErrors()
  world.stripe.api.faults = [{ kind: 'cut', on: 'POST /v1/customers', afterEffect: true }]
  expect(outcomeOf(await world.checkOut())).toEqual([503, 'unavailable'])
  await world.buy()
  const keys = world.stripe.api.requests.flatMap(({ request, idempotencyKey }) =>
    request === 'POST /v1/customers' ? [idempotencyKey] : [],
  )
  expect([keys.length, new Set(keys).size]).toEqual([2, 1])
})

test('a user who has paid cannot buy again, even if no event has arrived', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut()).json.response
  world.stripe.completeCheckout(sessionId)
  expect(outcomeOf(await world.checkOut())).toEqual(ALREADY)
  expect(outcomeOf(await world.checkOut('team'))).toEqual(ALREADY)
  await world.app.services.stores.stripe?.queue.flush()
  world.app.clock.advance(3_000)
  await world.app.services.stores.stripe?.queue.flush()
  expect(await world.list()).toMatchObject([{ status: 'active' }])
})

test.each(['past_due', 'unpaid', 'cancelled at the end'])(
  'a subscription that is %s cannot be bought again',
  async (state) => {
    await using world = await createStripeWorld({
      account: state === 'unpaid' ? { afterRetries: 'unpaid' } : {},
    } as never)
    const bought = await world.buy()
    if (state === 'cancelled at the end') bought.cancelAt()
    else bought.failToRenew()
    if (state === 'unpaid') bought.exhaustRetries()
    await world.drain()
    expect(outcomeOf(await world.checkOut())).toEqual(ALREADY)
  },
)

test('a subscription in another store is reported, and the user may buy a second one', async () => {
  await using world = await createStripeWorld()
  const expiresAt = world.app.clock.now.getTime() + 20 * DAY
  await deliver(world.app, {
    event: {
      id: 'rc1',
      type: 'INITIAL_PURCHASE',
      app_user_id: world.userId,
      store: 'APP_STORE',
      product_id: 'pro_month',
      entitlement_ids: ['pro'],
      original_transaction_id: '1',
      transaction_id: '1',
      event_timestamp_ms: world.app.clock.now.getTime(),
      purchased_at_ms: world.app.clock.now.getTime(),
      expiration_at_ms: expiresAt,
    },
  })
  const { pro } = world.prices
  await publishPlans(world.app, [plan('pro', pro.id, { otherProductIds: ['pro_month'] })])
  expect(outcomeOf(await world.checkOut())).toEqual([409, 'subscribed_elsewhere'])
  const { json } = await world.checkOut('pro', { allowSecond: true })
  expect(json.response.overlapUntil).toBe(new Date(expiresAt).toISOString())
})

test('a guest who checks out is told to sign up', async () => {
  await using world = await createStripeWorld()
  const { json } = await world.app.ask('POST', '/api/auth/guest/v1', { json: {} })
  const reply = await world.checkOut('pro', {}, json.response.accessToken)
  expect(outcomeOf(reply)).toEqual([403, 'forbidden'])
  expect(reply.json.message).toContain('Sign up')
  expect(world.stripe.api.requests).toEqual([])
})

test.each([
  'https://evil.example.com/done',
  '//shop.example.com/done',
  'https://shop.example.com@evil.example.com',
  'https://user@shop.example.com/',
  'https://shop.example.com\\@evil.example.com',
  'https:\\\\shop.example.com',
  'javascript:alert(1)',
  'https://shop.example.com.evil.example.com',
  'http://shop.example.com/',
  'myapp://done',
  '/done',
])('refuses the return address %s, and does not query Stripe', async (address) => {
  await using world = await createStripeWorld()
  for (const name of ['successUrl', 'cancelUrl']) {
    const reply = await world.checkOut('pro', { [name]: address })
    expect([...outcomeOf(reply), reply.json.details[0].path]).toEqual([
      422,
      'validation_failed',
      name,
    ])
  }
  const portal = await world.ask('/api/user/billing_portal/v1', { returnUrl: address })
  expect(portal.status).toBe(422)
  expect(world.stripe.api.requests).toEqual([])
})

test('the session id is appended to the address, before its fragment', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut('pro', { successUrl: `${SHOP}/done?a=1#plans` })).json
    .response
  expect(world.stripe.session(sessionId).success_url).toBe(
    `${SHOP}/done?a=1&session_id={CHECKOUT_SESSION_ID}#plans`,
  )
})

test('a customer who was deleted at Stripe gets a new one', async () => {
  await using world = await createStripeWorld()
  const bought = await world.buy()
  await deleteAtStripe(world, bought.customer)
  await world.drain()
  await world.drain()
  expect(outcomeOf(await world.checkOut())).toEqual([200, 'ok'])
  expect(countRequests(world, 'POST /v1/customers')).toBe(2)
})

test('a customer who was deleted at Stripe before buying gets a new one immediately', async () => {
  await using world = await createStripeWorld()
  const { sessionId } = (await world.checkOut()).json.response
  await deleteAtStripe(world, String(world.stripe.session(sessionId).customer))
  expect(outcomeOf(await world.checkOut('team'))).toEqual([200, 'ok'])
  expect(countRequests(world, 'POST /v1/customers')).toBe(2)
})
