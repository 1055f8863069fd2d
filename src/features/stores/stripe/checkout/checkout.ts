import { AppError } from '../../../../lib/errors.ts'
import type { Json } from '../../../../lib/text/json.ts'
import { MINUTE_MS } from '../../../../lib/time/durations.ts'
import { type Catalogue, findPlanOfPurchase } from '../../../billing/access/plan-matching.ts'
import type { PlanLike } from '../../../billing/access/subscription.ts'
import { type StoredEnvironment, storedEnvironment } from '../../../billing/environment.ts'
import { text, toList } from '../../json.ts'
import type { Params } from '../api/api.ts'
import { ignoreUnknown, StripeApiError } from '../api/api-error.ts'
import type { Prices } from '../api/prices.ts'
import type { SoldPlan, StripeContext } from '../context.ts'
import type { Customers } from './customers.ts'
import { alreadySubscribed, type CheckoutRequest, createSessions } from './sessions.ts'

type KnownPurchase = Awaited<
  ReturnType<StripeContext['readSubscription']>
>['subscription']['subscriptions'][number]

const SESSION_MS = 60 * MINUTE_MS
const LIVE = ['trialing', 'active', 'past_due', 'unpaid', 'paused']

/** Sells plans on Stripe's checkout page. */
export function createCheckout(deps: StripeContext & { customers: Customers; prices: Prices }) {
  const { db, api, settings, objects, customers, prices, listPlans, now } = deps
  const sessions = createSessions(deps)
  return { start }

  /** Throws 403 for guests, 409 for what cannot be sold now, and `StripeApiError`. */
  async function start(userId: string, request: CheckoutRequest) {
    try {
      return await sell(userId, request)
    } catch (error) {
      const isGone = error instanceof StripeApiError && error.code === 'resource_missing'
      if (!isGone || error.param !== 'customer') throw error
      await customers.forgetCurrent(userId, storedEnvironment(request.environment ?? 'production'))
      return sell(userId, request)
    }
  }

  async function sell(userId: string, request: CheckoutRequest) {
    if (await deps.isGuest(db.read, userId))
      throw new AppError('forbidden', 'Sign up first: a purchase on the web belongs to an account.')
    const { environment: asked = 'production' } = request
    const environment = storedEnvironment(asked)
    const catalogue = await listPlans([])
    const plan = catalogue.plans.find(({ code }) => code === request.plan)
    const priceId = plan ? await prices.findForSale(plan, environment) : null
    if (plan === undefined || priceId === null) throw notForSale()
    const { subscription } = await deps.readSubscription(userId, asked, [])
    const known = subscription.subscriptions
    const overlapUntil = checkOtherStores(known, request, plan, catalogue)
    const customer = await customers.findOrCreate(userId, environment)
    const former = await checkStripe(userId, environment, plan, catalogue)
    const buyer = { userId, environment }
    const started = former.filter(({ status }) => !String(status).startsWith('incomplete'))
    const isFirst = started.length === 0 && !hasSubscribed(known)
    const trialDays = isFirst ? plan.trialDays : 0
    const open = await sessions.findOpen(buyer, request, former, trialDays)
    if (open.session !== null) return { ...open.session, overlapUntil }
    const params = toParams({ userId, customer, priceId, trialDays, request })
    const session = await sessions.create(buyer, request, params, open.seen)
    return { ...session, overlapUntil }
  }

  /** When access from elsewhere ends; null if it does not overlap. Throws 409 for a renewing subscription. */
  function checkOtherStores(
    known: KnownPurchase[],
    { allowSecond = false }: CheckoutRequest,
    plan: PlanLike & SoldPlan,
    catalogue: Catalogue<PlanLike & SoldPlan>,
  ): string | null {
    const others = known.filter(({ productId, priceId = null, effectiveEndAt }) => {
      const isRunning = effectiveEndAt === null || effectiveEndAt > now().toISOString()
      return isRunning && excludes(plan, findPlanOfPurchase({ productId, priceId }, catalogue))
    })
    if (others.some(({ store, willRenew }) => store === 'STRIPE' && willRenew))
      throw alreadySubscribed()
    if (others.some(({ willRenew }) => willRenew) && !allowSecond)
      throw new AppError(
        'subscribed_elsewhere',
        'The user has a subscription in another store, which renews.',
      )
    const ends = others.flatMap(({ effectiveEndAt }) => effectiveEndAt ?? [])
    return ends.toSorted().at(-1) ?? null
  }

  /** Checks the subscriptions of the user's customers at Stripe itself, because events may be late. */
  async function checkStripe(
    userId: string,
    environment: StoredEnvironment,
    plan: PlanLike & SoldPlan,
    catalogue: Catalogue<PlanLike & SoldPlan>,
  ) {
    const found: Json[] = []
    for (const { id: customer } of await customers.list(db.read, userId, environment)) {
      const params = { customer, status: 'all', limit: 100 }
      const reply = await api.call(environment, 'subscriptions', { params }).catch(ignoreUnknown)
      found.push(...toList(reply['data']))
    }
    const live = found.filter((each) => LIVE.includes(String(each['status'])) && isExcluded(each))
    if (live.length === 0) return found
    await db.write(async (tx) => {
      for (const { id } of live) await objects.enqueue(tx, environment, { id: String(id) })
    })
    throw alreadySubscribed()

    function isExcluded(subscription: Json): boolean {
      return toList((subscription['items'] as Json)['data']).some(({ price }) => {
        const { id, product } = price as Json
        const offer = { priceId: text(id), productId: text(product) }
        return excludes(plan, findPlanOfPurchase(offer, catalogue))
      })
    }
  }

  function toParams(sale: {
    userId: string
    customer: string
    priceId: string
    trialDays: number
    request: CheckoutRequest
  }): Params {
    const { userId, customer, priceId, trialDays, request } = sale
    return {
      mode: 'subscription',
      customer,
      client_reference_id: userId,
      line_items: [{ price: priceId, quantity: request.quantity ?? 1 }],
      success_url: addSessionId(request.successUrl),
      cancel_url: request.cancelUrl,
      expires_at: Math.floor((now().getTime() + SESSION_MS) / 1000),
      subscription_data: {
        billing_mode: { type: 'flexible' },
        metadata: { homeport_user: userId, homeport_server: deps.serverId },
        ...(trialDays === 0
          ? {}
          : {
              trial_period_days: trialDays,
              trial_settings: { end_behavior: { missing_payment_method: 'cancel' } },
            }),
      },
      automatic_tax: settings.stripeTax ? { enabled: true } : undefined,
      customer_update: settings.stripeTax ? { address: 'auto' } : undefined,
      allow_promotion_codes: settings.stripePromotionCodes ? true : undefined,
    }
  }
}

function hasSubscribed(known: KnownPurchase[]): boolean {
  return known.some(
    ({ store, expiresAt }) => store !== null && store !== 'PROMOTIONAL' && expiresAt !== null,
  )
}

/** Users have at most one subscription, and at most one of each addition to it. */
function excludes(plan: PlanLike & SoldPlan, other: (PlanLike & SoldPlan) | undefined): boolean {
  if (other === undefined) return false
  return plan.code === other.code || (plan.type === 'subscription' && other.type === 'subscription')
}

/** Stripe replaces the text in braces. */
function addSessionId(address: string): string {
  const [page = '', fragment] = address.split('#', 2)
  const separator = page.includes('?') ? '&' : '?'
  const rest = fragment === undefined ? '' : `#${fragment}`
  return `${page}${separator}session_id={CHECKOUT_SESSION_ID}${rest}`
}

function notForSale() {
  return new AppError('not_for_sale', 'This plan is not sold by card now.')
}
