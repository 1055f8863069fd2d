import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../../lib/errors.ts'
import type { Json } from '../../../../lib/text/json.ts'
import { MINUTE_MS } from '../../../../lib/time/durations.ts'
import type { Tx } from '../../../../platform/db/db.ts'
import { type Catalogue, findPlanOfPurchase } from '../../../billing/access/plan-matching.ts'
import type { PlanLike } from '../../../billing/access/subscription.ts'
import {
  type Environment,
  type StoredEnvironment,
  storedEnvironment,
} from '../../../billing/environment.ts'
import { text, toList } from '../../json.ts'
import type { Params } from '../api/api.ts'
import { StripeApiError } from '../api/api-error.ts'
import type { Prices } from '../api/prices.ts'
import type { SoldPlan, StripeContext } from '../context.ts'
import { time } from '../events/state.ts'
import type { Customers } from './customers.ts'

type CheckoutRequest = {
  plan: string
  successUrl: string
  cancelUrl: string
  quantity?: number
  environment?: Environment
  allowSecond?: boolean
}

const SESSION_MS = 60 * MINUTE_MS
/** After this, a session that was never created could not be open for the 30 minutes that Stripe requires. */
const REPEATABLE_MS = 25 * MINUTE_MS
const LIVE = ['trialing', 'active', 'past_due', 'unpaid', 'paused']

/** Sells plans on Stripe's checkout page. */
export function createCheckout(deps: StripeContext & { customers: Customers; prices: Prices }) {
  const { db, api, settings, objects, customers, prices, listPlans, now, newId } = deps
  const { stripeCheckouts } = db.tables
  return { start }

  /** Throws 403 for guests, 409 for what cannot be sold now, and `StripeApiError`. */
  async function start(userId: string, request: CheckoutRequest) {
    if (await deps.isGuest(userId))
      throw new AppError('forbidden', 'Sign up first: a purchase on the web belongs to an account.')
    const environment = storedEnvironment(request.environment ?? 'production')
    const catalogue = await listPlans([])
    const plan = catalogue.plans.find(({ code }) => code === request.plan)
    const priceId = plan ? await prices.findForSale(plan, environment) : null
    if (plan === undefined || priceId === null) throw notForSale()
    const overlapUntil = await checkOtherStores(userId, request, plan, catalogue)
    const customer = await customers.require(userId, environment)
    const former = await checkStripe(customer, environment, plan, catalogue)
    const open = await findOpen(userId, environment, request)
    if (open !== null) return { ...open, overlapUntil }
    const isFirst = former.length === 0 && !(await hasSubscribed(userId, request))
    const trialDays = isFirst ? plan.trialDays : 0
    const params = toParams({ userId, customer, priceId, trialDays, request })
    const session = await create(userId, environment, request, params)
    return { ...session, overlapUntil }
  }

  /** When access from elsewhere ends; null if it does not overlap. Throws 409 for a renewing subscription. */
  async function checkOtherStores(
    userId: string,
    { environment = 'production', allowSecond = false }: CheckoutRequest,
    plan: PlanLike & SoldPlan,
    catalogue: Catalogue<PlanLike & SoldPlan>,
  ): Promise<string | null> {
    const { subscription } = await deps.readSubscription(userId, environment, [])
    const others = subscription.subscriptions.filter(({ productId, effectiveEndAt, ...one }) => {
      const isRunning = effectiveEndAt === null || effectiveEndAt > now().toISOString()
      const offer = { productId, priceId: one.priceId ?? null, entitlementIds: [], grant: null }
      return isRunning && excludes(plan, findPlanOfPurchase(offer, catalogue))
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

  /** What Stripe itself knows about the customer, because events may be late. */
  async function checkStripe(
    customer: string,
    environment: StoredEnvironment,
    plan: PlanLike & SoldPlan,
    catalogue: Catalogue<PlanLike & SoldPlan>,
  ) {
    const params = { customer, status: 'all', limit: 100 }
    const { data } = await api.call(environment, 'subscriptions', { params })
    const found = toList(data)
    const live = found.filter((one) => LIVE.includes(String(one['status'])) && isExcluded(one))
    if (live.length === 0) return found
    await db.write(async (tx) => {
      for (const { id } of live)
        await objects.enqueue(tx, environment, { id: String(id), customer, userId: null })
    })
    throw alreadySubscribed()

    function isExcluded(subscription: Json): boolean {
      return toList((subscription['items'] as Json)['data']).some(({ price }) => {
        const { id, product } = price as Json
        const offer = {
          priceId: text(id),
          productId: text(product),
          entitlementIds: [],
          grant: null,
        }
        return excludes(plan, findPlanOfPurchase(offer, catalogue))
      })
    }
  }

  async function hasSubscribed(userId: string, { environment = 'production' }: CheckoutRequest) {
    const { subscription } = await deps.readSubscription(userId, environment, [])
    return subscription.subscriptions.some(
      ({ store, expiresAt }) => store !== null && store !== 'PROMOTIONAL' && expiresAt !== null,
    )
  }

  /** The page of the same request, if it is still open. Closes that of another request. Throws 409 if it was paid. */
  async function findOpen(
    userId: string,
    environment: StoredEnvironment,
    request: CheckoutRequest,
  ) {
    const [known] = await db.read.select().from(stripeCheckouts).where(isOf(userId, environment))
    if (!known) return null
    if (known.sessionId === null) {
      const isRepeatable =
        known.request === toText(request) &&
        known.createdAt.getTime() + REPEATABLE_MS > now().getTime()
      return isRepeatable ? call(userId, environment, known) : null
    }
    const session = await api.call(environment, `checkout/sessions/${known.sessionId}`)
    if (session['status'] === 'complete') throw await markComplete(environment, session)
    if (session['status'] !== 'open') return null
    if (known.request === toText(request)) return toReply(session, known.params as Params)
    const closed = await api
      .call(environment, `checkout/sessions/${known.sessionId}/expire`, { method: 'POST' })
      .catch(() => api.call(environment, `checkout/sessions/${known.sessionId}`))
    if (closed['status'] === 'complete') throw await markComplete(environment, closed)
    return null
  }

  async function markComplete(environment: StoredEnvironment, session: Json) {
    const id = text(session['subscription'])
    if (id !== null)
      await db.write((tx) => objects.enqueue(tx, environment, { id, customer: null, userId: null }))
    return alreadySubscribed()
  }

  /** Stores the attempt before the call: a repetition, also after a crash, gets the same session. */
  async function create(
    userId: string,
    environment: StoredEnvironment,
    request: CheckoutRequest,
    params: Params,
  ) {
    const row = await db.write(async (tx) => {
      const isThis = isOf(userId, environment)
      const [known] = await tx.select().from(stripeCheckouts).where(isThis)
      // A second click, or another tab, may have been faster.
      const isUnderWay = known?.sessionId === null && known.request === toText(request)
      if (isUnderWay && known.createdAt.getTime() + REPEATABLE_MS > now().getTime()) return known
      return store(tx, userId, environment, request, params)
    })
    return call(userId, environment, row)
  }

  async function store(
    tx: Tx,
    userId: string,
    environment: StoredEnvironment,
    request: CheckoutRequest,
    params: Params,
  ) {
    const row = {
      userId,
      environment,
      attempt: newId(),
      request: toText(request),
      params,
      createdAt: now(),
      sessionId: null,
    }
    await tx
      .insert(stripeCheckouts)
      .values(row)
      .onConflictDoUpdate({
        target: [stripeCheckouts.userId, stripeCheckouts.environment],
        set: row,
      })
    return row
  }

  async function call(
    userId: string,
    environment: StoredEnvironment,
    { attempt, params }: { attempt: string; params: Record<string, unknown> },
  ) {
    const session = await api.call(environment, 'checkout/sessions', {
      method: 'POST',
      params: params as Params,
      idempotencyKey: attempt,
    })
    const sessionId = text(session['id'])
    await db.write(async (tx) => {
      const isThis = and(isOf(userId, environment), eq(stripeCheckouts.attempt, attempt))
      await tx.update(stripeCheckouts).set({ sessionId }).where(isThis)
    })
    return toReply(session, params as Params)
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

  function isOf(userId: string, environment: StoredEnvironment) {
    return and(eq(stripeCheckouts.userId, userId), eq(stripeCheckouts.environment, environment))
  }
}

/** Throws `StripeApiError` for a session without an address. */
function toReply(session: Json, params: Params) {
  const [url, sessionId] = [text(session['url'], 5_000), text(session['id'])]
  const expiresAt = time(session['expires_at'])
  if (url === null || sessionId === null || expiresAt === null)
    throw new StripeApiError('unreadable')
  const { trial_period_days: trialDays = 0 } = params['subscription_data'] as Params
  return {
    url,
    sessionId,
    expiresAt: new Date(expiresAt).toISOString(),
    trialDays: Number(trialDays),
  }
}

/** Users have at most one subscription, and at most one of each addition to it. */
function excludes(plan: PlanLike & SoldPlan, other: (PlanLike & SoldPlan) | undefined): boolean {
  if (other === undefined) return false
  return plan.code === other.code || (plan.type === 'subscription' && other.type === 'subscription')
}

function toText({ plan, successUrl, cancelUrl, quantity = 1 }: CheckoutRequest): string {
  return JSON.stringify([plan, successUrl, cancelUrl, quantity])
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

function alreadySubscribed() {
  return new AppError(
    'already_subscribed',
    'The user has a subscription already. Open the customer portal.',
  )
}
