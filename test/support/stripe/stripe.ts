import type Stripe from 'stripe'
import { seededRandom } from '../../soak/stores/random.ts'
import type { Clock } from '../app.ts'
import { createApi } from './api/api.ts'
import { checkoutRoutes } from './api/checkout-routes.ts'
import { customerRoutes } from './api/customer-routes.ts'
import { eventRoutes } from './api/event-routes.ts'
import { createKeys } from './api/keys.ts'
import { paymentRoutes } from './api/payment-routes.ts'
import { createFinder } from './api/route.ts'
import { subscriptionRoutes } from './api/subscription-routes.ts'
import { createBilling } from './billing/billing.ts'
import type { CardKind } from './billing/payments.ts'
import { createCatalog } from './catalog.ts'
import { type CheckoutAction, createCheckout } from './checkout.ts'
import { type Account, type Core, DEFAULT_ACCOUNT } from './core.ts'
import { createCustomers } from './customers.ts'
import { createDeliveries, type Probabilities, type Send } from './deliveries.ts'
import { createEvents } from './events.ts'
import { createExpectedStates } from './expected-states.ts'
import { createObjectStore } from './object-store.ts'
import type { CustomerFields } from './objects/customer.ts'
import { createPages } from './pages/pages.ts'
import { createPortal } from './portal.ts'
import { createFakeSubscription } from './subscription.ts'
import { createTimeline } from './timeline.ts'

export type FakeStripe = ReturnType<typeof startStripe>

export type StripeOptions = {
  clock: Clock
  /** Where both modes deliver their events. */
  webhookUrl?: string
  send?: Send
  seed?: number
  probabilities?: Partial<Probabilities>
  account?: Partial<Account>
  port?: number
  /** Responds to requests that are neither for the API nor for a page. */
  respond?: (request: Request) => Response
}

type SubscribeOptions = {
  customer?: Stripe.Customer
  fields?: CustomerFields
  price?: Stripe.Price
  quantity?: number
  metadata?: Stripe.Metadata
  trialDays?: number
  card?: CardKind | null
  missingPaymentMethod?: 'cancel' | 'pause' | 'create_invoice'
  isFlexible?: boolean
  isLive?: boolean
}

const WEBHOOK_URL = 'http://localhost/api/webhooks/stripe/v1'
const RELIABLE = { lost: 0, late: 0, duplicated: 0, shuffled: false }

/** A fake Stripe on loopback, whose account uses a test's clock: its API, its pages and its webhooks. */
export function startStripe({ clock, ...options }: StripeOptions) {
  const { seed = 1, port = 0, webhookUrl = WEBHOOK_URL } = options
  const objects = createObjectStore(seed)
  const timeline = createTimeline(clock)
  const events = createEvents(objects, timeline)
  const account: Account = { ...DEFAULT_ACCOUNT, ...options.account }
  const core: Core = { objects, timeline, events, account }
  const billing = createBilling(core)
  const catalog = createCatalog(core)
  const customers = createCustomers(core, billing.subscriptions)
  const checkout = createCheckout(core, billing, () => url)
  const portal = createPortal(core, billing, () => url)
  const expectedStates = createExpectedStates(core, billing)
  const probabilities = { ...RELIABLE, ...options.probabilities }
  const webhooks = createDeliveries(core, seededRandom(seed), probabilities)
  if (options.send) webhooks.send = options.send
  const live = webhooks.addEndpoint({ url: webhookUrl })
  const test = webhooks.addEndpoint({ url: webhookUrl, isLive: false })
  const keys = createKeys()
  const find = createFinder(core)
  const routes = [
    ...customerRoutes(find, customers),
    ...checkoutRoutes(core, find, checkout, portal),
    ...subscriptionRoutes(core, find, billing.subscriptions),
    ...paymentRoutes(core, find),
    ...eventRoutes(core, find),
  ]
  const api = createApi(core, keys, routes, checkout)
  const pages = createPages({ core, checkout, portal, customers, webhooks }, options.respond)
  const server = Bun.serve({
    port,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: (request) =>
      new URL(request.url).pathname.startsWith('/v1/')
        ? api.respond(request)
        : pages.respond(request),
  })
  const url = `http://127.0.0.1:${server.port}`
  const deps = { core, billing, portal, expectedStatesOf: expectedStates.ofSubscription, advanceTo }
  return {
    url,
    keys,
    /** The settings for Homeport. */
    environment: {
      STRIPE_API_KEY: keys.live.restricted,
      STRIPE_WEBHOOK_SECRET: live.secrets[0] ?? '',
      STRIPE_SANDBOX_API_KEY: keys.test.restricted,
      STRIPE_SANDBOX_WEBHOOK_SECRET: test.secrets[0] ?? '',
      STRIPE_API_URL: url,
    },
    endpoints: { live, test },
    account,
    api,
    webhooks,
    events,
    ...catalog,
    createCustomer: customers.create,
    deleteCustomer: customers.remove,
    customer: objects.customer,
    charge: (id: string) => objects.read('charge', id),
    subscribe,
    subscription,
    completeCheckout,
    settleDebit: (sessionId: string) => settled(() => checkout.settleDebit(sessionOf(sessionId))),
    failDebit: (sessionId: string) => settled(() => checkout.failDebit(sessionOf(sessionId))),
    session: sessionOf,
    deliver: webhooks.deliver,
    runDue: timeline.runDue,
    /** The time in seconds. */
    now: timeline.now,
    /** Runs a function at a time in seconds. */
    schedule: timeline.schedule,
    advance,
    advanceTo,
    expectedStates: expectedStates.all,
    [Symbol.asyncDispose]: () => server.stop(true),
  }

  /** Subscribes a customer without Checkout. */
  function subscribe(subscribing: SubscribeOptions = {}) {
    const { isLive = true, fields = {}, quantity = 1, card = 'pays', ...rest } = subscribing
    timeline.runDue()
    const price = subscribing.price ?? catalog.createPrice({}, isLive)
    const customer = subscribing.customer ?? customers.create(fields, isLive)
    const paymentMethod = card === null ? null : billing.payments.addMethod(customer, card).id
    const items = [{ price, quantity }]
    return wrap(billing.subscriptions.start({ ...rest, customer, items, paymentMethod }))
  }

  function subscription(id: string) {
    return wrap(objects.read('subscription', id))
  }

  function wrap(object: Stripe.Subscription) {
    return createFakeSubscription(deps, object)
  }

  /** Performs the customer's action on the page. Returns the subscription once the session is complete, else null. */
  function completeCheckout(sessionId: string, action: CheckoutAction = 'pay') {
    timeline.runDue()
    const session = sessionOf(sessionId)
    return checkout.act(session, action) ? subscription(session.subscription as string) : null
  }

  function sessionOf(id: string): Stripe.Checkout.Session {
    timeline.runDue()
    return checkout.sessionOf(id)
  }

  function settled(act: () => void) {
    timeline.runDue()
    act()
  }

  /** Moves the clock, and runs everything that is due by then. */
  function advance(ms: number) {
    clock.advance(ms)
    timeline.runDue()
  }

  function advanceTo(seconds: number) {
    advance(Math.max(0, seconds * 1000 - clock.now.getTime()))
  }
}
