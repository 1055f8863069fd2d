import { createClock } from '../../support/app.ts'
import { createAppStore } from '../../support/app-store/app-store.ts'
import { FAKE_APP } from '../../support/app-store/subscription.ts'
import { publishPlans } from '../../support/plans.ts'
import { servePlayApi } from '../../support/play-store/api.ts'
import { createPlayStore } from '../../support/play-store/play-store.ts'
import type { RouteCase } from '../../support/route-case.ts'
import { startStripe } from '../../support/stripe/stripe.ts'
import { plan, RETURN_ADDRESSES, SHOP } from '../../support/stripe/world.ts'

const clock = createClock()
const store = await createAppStore(clock)
const playStore = createPlayStore(clock)
const playApi = servePlayApi(playStore, () => clock.now)
const push = (overrides = {}) => playApi.pushOf({ testNotification: { version: '1.0' } }, overrides)
const stripe = startStripe({ clock })
const price = stripe.createPrice()
const CHECKOUT = { plan: 'pro', ...RETURN_ADDRESSES }
const EVENT = {
  id: 'evt_1',
  type: 'invoice.paid',
  livemode: true,
  data: { object: { id: 'in_1' } },
}
const DATA = { environment: 'Sandbox', bundleId: FAKE_APP.bundleId }

/** The environment variables that these routes need. */
export const environment = {
  ...store.environment,
  ...playApi.environment,
  ...stripe.environment,
  CHECKOUT_ORIGINS: SHOP,
}

export const routes: RouteCase[] = [
  {
    method: 'POST',
    path: '/api/webhooks/app-store/v1',
    access: 'public',
    good: {},
    prepare: async () => ({ json: store.notification('TEST', undefined, { data: DATA }).body }),
    bad: { json: {}, status: 400 },
    oversize: { json: { signedPayload: 'x'.repeat(300_000) } },
  },
  {
    method: 'POST',
    path: '/api/webhooks/play/v1',
    access: 'webhook',
    good: {},
    prepare: async () => push(),
    bad: { ...push({ isUnwrapped: true }), status: 400 },
    oversize: { ...push(), json: { message: { messageId: '1', data: 'x'.repeat(300_000) } } },
  },
  {
    method: 'POST',
    path: '/api/user/purchases/v1',
    access: 'user',
    good: { json: { purchases: [{ store: 'app_store', signedTransaction: 'text' }] } },
    bad: { json: { purchases: [] }, status: 422 },
    oversize: { json: { purchases: [], fill: 'x'.repeat(300_000) } },
  },
  {
    method: 'POST',
    path: '/api/webhooks/stripe/v1',
    access: 'public',
    good: {},
    prepare: async () => signed(JSON.stringify(EVENT)),
    bad: { json: EVENT, status: 401 },
    oversize: { json: { ...EVENT, fill: 'x'.repeat(300_000) } },
  },
  {
    method: 'POST',
    path: '/api/user/checkout/v1',
    access: 'user',
    good: { json: CHECKOUT },
    prepare: sellPlan,
    bad: { json: { ...CHECKOUT, successUrl: 'https://evil.example.com' }, status: 422 },
    oversize: { json: { ...CHECKOUT, fill: 'x'.repeat(300_000) } },
  },
  {
    method: 'POST',
    path: '/api/user/billing_portal/v1',
    access: 'user',
    good: { json: { returnUrl: SHOP } },
    async prepare(setup) {
      const token = setup.user.accessToken
      await setup.app.ask('POST', '/api/user/checkout/v1', { token, ...(await sellPlan(setup)) })
      return { json: { returnUrl: SHOP } }
    },
    bad: { json: { returnUrl: SHOP, flow: 'refund' }, status: 422 },
    oversize: { json: { returnUrl: SHOP, fill: 'x'.repeat(300_000) } },
  },
]

async function sellPlan({ app }: Parameters<NonNullable<RouteCase['prepare']>>[0]) {
  await publishPlans(app, [{ code: 'free' }, plan('pro', price.id)])
  return { json: CHECKOUT }
}

function signed(body: string) {
  const { secrets } = stripe.endpoints.live
  const signature = stripe.webhooks.signature(body, secrets, Math.floor(Date.now() / 1000))
  return { body, headers: { 'content-type': 'application/json', 'stripe-signature': signature } }
}
