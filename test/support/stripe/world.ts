import { expect } from 'bun:test'
import type { PlanImport } from '../../../src/features/plans/model.ts'
import { createClock, createTestApp, PASSWORD } from '../app.ts'
import { listSubscriptions } from '../app-store/world.ts'
import { publishPlans } from '../plans.ts'
import { type StripeOptions, startStripe } from './stripe.ts'

export const STRIPE_PATH = '/api/webhooks/stripe/v1'
export const SHOP = 'https://shop.example.com'
export const RETURN_ADDRESSES = { successUrl: `${SHOP}/done`, cancelUrl: `${SHOP}/plans` }

export type StripeWorld = Awaited<ReturnType<typeof createStripeWorld>>

/** A server and a fake Stripe that share a clock, a user, and a plan that is sold by card. */
export async function createStripeWorld(
  options: Omit<StripeOptions, 'clock'> = {},
  settings: Record<string, string> = {},
) {
  const clock = createClock()
  const stripe = startStripe({ clock, ...options })
  const variables = { ...stripe.environment, CHECKOUT_ORIGINS: SHOP, ...settings }
  const app = await createTestApp(variables, { requestsPerSecond: 1_000 })
  app.clock.now = new Date('2026-10-01T12:00:00Z')
  Object.defineProperty(clock, 'now', { get: () => app.clock.now })
  clock.advance = (ms) => app.clock.advance(ms)
  const pro = stripe.createPrice({ amount: 999 })
  const team = stripe.createPrice({ amount: 2900 })
  await publishPlans(app, [
    { code: 'free' },
    plan('pro', pro.id, { price: 9.99 }),
    plan('team', team.id, { price: 29, seatLimit: 3 }),
  ])
  const { user, accessToken } = await app.register()
  let signedIn = { at: app.clock.now.getTime(), token: accessToken }
  stripe.webhooks.send = async (_url, body, headers) => {
    return (await app.ask('POST', STRIPE_PATH, { body, headers })).status
  }
  return {
    app,
    stripe,
    prices: { pro, team },
    userId: user._id,
    token: accessToken,
    /** A token that has not expired. */
    freshToken,
    ask: async (path: string, json: object, as?: string) =>
      app.ask('POST', path, { token: as ?? (await freshToken()), json }),
    checkOut,
    buy,
    advance,
    drain,
    list: (environment?: 'production' | 'sandbox') => listSubscriptions(app, user._id, environment),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await stripe[Symbol.asyncDispose]()
    },
  }

  async function freshToken(): Promise<string> {
    const now = app.clock.now.getTime()
    if (now - signedIn.at < 60_000) return signedIn.token
    const json = { email: user.email, password: PASSWORD }
    const reply = await app.ask('POST', '/api/auth/login/v1', { json })
    signedIn = { at: now, token: reply.json.response.accessToken }
    return signedIn.token
  }

  /** Starts a checkout and returns the response. */
  async function checkOut(plan = 'pro', request: object = {}, as?: string) {
    const json = { plan, ...RETURN_ADDRESSES, ...request }
    const token = as ?? (await freshToken())
    return app.ask('POST', '/api/user/checkout/v1', { token, json })
  }

  /** Buys a plan on the page of the checkout, and delivers the events. */
  async function buy(plan = 'pro', request: object = {}, as?: string) {
    const reply = await checkOut(plan, request, as)
    expect([reply.status, reply.json.message]).toEqual([200, undefined])
    const bought = stripe.completeCheckout(reply.json.response.sessionId)
    if (bought === null) throw new Error('the customer has not paid')
    await drain()
    return { ...bought, sessionId: reply.json.response.sessionId as string }
  }

  /** Moves the clock, delivers the events, and lets the server query Stripe. */
  async function advance(ms: number) {
    stripe.advance(ms)
    await drain()
  }

  async function drain() {
    await stripe.deliver()
    // The events of one purchase share a request.
    app.clock.advance(3_000)
    await app.services.stores.stripe?.queue.flush()
  }
}

/** A plan that is sold by card, and unlocks an entitlement of its name. */
export function plan(code: string, paymentPriceId: string, fields: Partial<PlanImport> = {}) {
  const sold = { source: 'stripe', type: 'subscription', trialDays: 0, isEnterprise: false }
  return { ...sold, code, paymentPriceId, entitlementIds: [code], ...fields }
}
