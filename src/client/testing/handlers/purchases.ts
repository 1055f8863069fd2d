import type {
  PlanLimits,
  PricingPlan,
  PurchaseResult,
  Subscription,
  SubscriptionLine,
} from '../../models.ts'
import { failure } from '../failure.ts'
import type { HandlersFor } from '../operations.ts'
import { iso, type Purchase, type State, type User, type UserReference } from '../state.ts'
import { LIMIT_NAMES } from './content.ts'

/** The states of a purchase that `grantSubscription` can set. */
export type SubscriptionState =
  | 'active'
  | 'trial'
  | 'grace_period'
  | 'billing_retry'
  | 'cancelled'
  | 'paused'
  | 'expired'
  | 'refunded'
  | 'lifetime'

/** What a user has bought. */
export type SubscriptionGrant = {
  /** The id of the entitlement; `pro` by default. */
  entitlement?: string
  /** `active` by default: access until `expiresAt`. It does not renew: grant it again. */
  state?: SubscriptionState
  /** When the period ends (or ended, for `expired`); 30 days from now by default. Never for `lifetime`. */
  expiresAt?: Date | string | number
  /** The product of the plan whose code is the entitlement, by default, else the entitlement. */
  productId?: string
  /** `APP_STORE` by default. */
  store?: string
  environment?: 'production' | 'sandbox'
}

type Access = { purchase: Purchase; active: boolean; status: string; end: number | null }

const DAY_MS = 86_400_000
const PERIOD_MS = 30 * DAY_MS
const GRACE_MS = 16 * DAY_MS

export type Purchases = ReturnType<typeof createPurchases>

/** Purchases, and the access that they give at the time of the virtual clock. */
export function createPurchases(state: State, readPlans: () => PricingPlan[]) {
  const { clock, find, users, resolve, recordChange, newId } = state
  const submitted = new Map<string, Purchase>()
  const handlers: HandlersFor<'readSubscription' | 'submitPurchases'> = {
    readSubscription: (_input, { userId, query }) => read(find(userId), query['environment']),
    submitPurchases({ purchases, takeOver = false, environment }, { userId }) {
      if (!Array.isArray(purchases) || purchases.length === 0)
        throw failure('validation_failed', 'Some fields are invalid.', [
          { path: 'purchases', message: 'must have 1 to 20 purchases' },
        ])
      const results = purchases.map((one) =>
        submit(
          userId,
          'purchaseToken' in one ? one.purchaseToken : one.signedTransaction,
          takeOver,
        ),
      )
      return { results, subscription: read(find(userId), environment) }
    },
  }
  return { handlers, grant, issuePurchase, read, planOf, currentPurchase, reportTimeChanges }

  /** Replaces the user's purchase of the same product. */
  function grant(reference: UserReference, wanted: SubscriptionGrant) {
    const user = resolve(reference)
    const purchase = purchaseOf(wanted)
    user.purchases = [
      ...user.purchases.filter(({ productId }) => productId !== purchase.productId),
      purchase,
    ]
    recordChange(user.id, 'subscription')
  }

  /** The `signedTransaction` or `purchaseToken` of a purchase for `submitPurchases`. */
  function issuePurchase(wanted: SubscriptionGrant): string {
    const token = `fake-purchase-${submitted.size + 1}`
    submitted.set(token, purchaseOf(wanted))
    return token
  }

  function purchaseOf(wanted: SubscriptionGrant): Purchase {
    const { entitlement = 'pro', state: name = 'active', environment = 'production' } = wanted
    const { now } = clock
    const plan = readPlans().find(({ code, entitlementIds = [code] }) =>
      entitlementIds.includes(entitlement),
    )
    const isEarlier = /expired|refunded|paused|grace/.test(name)
    const end = Number(new Date(wanted.expiresAt ?? now + (isEarlier ? -1000 : PERIOD_MS)))
    const purchase = {
      entitlement,
      productId: wanted.productId ?? (plan?.paymentProductId || entitlement),
      store: wanted.store ?? 'APP_STORE',
      environment,
      transactionId: newId(),
      periodType: name === 'trial' ? 'TRIAL' : 'NORMAL',
      purchasedAt: Math.min(now, end - PERIOD_MS),
      expiresAt: name === 'lifetime' ? null : end,
      graceExpiresAt: name === 'grace_period' ? end + GRACE_MS : null,
      willRenew: /^(active|trial|refunded)$/.test(name),
      endedAt: name === 'expired' ? end : null,
    }
    if (name === 'cancelled')
      return { ...purchase, cancelReason: 'UNSUBSCRIBE', unsubscribeDetectedAt: now }
    if (name === 'refunded')
      return { ...purchase, cancelReason: 'CUSTOMER_SUPPORT', refundedAt: now, endedAt: now }
    if (name === 'paused') return { ...purchase, pausedAt: end, autoResumeAt: end + PERIOD_MS }
    if (name !== 'grace_period' && name !== 'billing_retry') return purchase
    return {
      ...purchase,
      cancelReason: 'BILLING_ERROR',
      billingIssueDetectedAt: Math.min(now, end),
    }
  }

  function submit(userId: string, token: string, takeOver: boolean): PurchaseResult {
    const nothing = { environment: null, transactionId: null, productId: null, expiresAt: null }
    const purchase = submitted.get(token)
    if (!purchase) return { outcome: 'refused', code: 'purchase_invalid', ...nothing }
    const { environment, transactionId, productId } = purchase
    const described = { environment, transactionId, productId, expiresAt: iso(purchase.expiresAt) }
    const owner = [...users.values()].find((user) => user.purchases.includes(purchase))
    if (owner?.id === userId) return { outcome: 'known', ...described }
    if (owner) {
      const from = owner.loginType === 'guest' ? 0 : purchase.purchasedAt + DAY_MS
      if (!takeOver || from > clock.now) {
        const canTakeOverAt = iso(Math.max(from, clock.now))
        return { outcome: 'refused', code: 'purchase_of_another', canTakeOverAt, ...described }
      }
      owner.purchases = owner.purchases.filter((one) => one !== purchase)
      recordChange(owner.id, 'subscription')
    }
    find(userId).purchases.push(purchase)
    recordChange(userId, 'subscription')
    return { outcome: 'bound', ...described }
  }

  function read(user: User, environment = 'production'): Subscription {
    const all = assess(user, environment)
    const plan = planGivenBy(all)
    const named = new Map<string, Access>()
    for (const access of all.toSorted(byAccess))
      if (!named.has(access.purchase.entitlement)) named.set(access.purchase.entitlement, access)
    return {
      environment,
      entitlements: [...named.values()]
        .sort((a, b) => (a.purchase.entitlement < b.purchase.entitlement ? -1 : 1))
        .map(({ purchase, active, end }) => ({
          id: purchase.entitlement,
          active,
          expiresAt: iso(end),
          gracePeriodExpiresAt: iso(purchase.graceExpiresAt),
          productId: purchase.productId,
          store: purchase.store,
          periodType: purchase.periodType,
          willRenew: purchase.willRenew,
        })),
      subscriptions: all.map(lineOf),
      plan,
      limits:
        plan && (Object.fromEntries(LIMIT_NAMES.map((name) => [name, plan[name]])) as PlanLimits),
    }
  }

  /** The user's purchases in an environment: active ones first, those with a plan before others, then by the later end. */
  function assess(user: User, environment: string): Access[] {
    const hasPlan = ({ purchase }: Access) => planWith(purchase) !== undefined
    return user.purchases
      .filter((purchase) => purchase.environment === environment)
      .map((purchase) => accessOf(purchase, clock.now))
      .sort(
        (a, b) =>
          (a.active && b.active ? Number(hasPlan(b)) - Number(hasPlan(a)) : 0) || byAccess(a, b),
      )
  }

  function planGivenBy(all: Access[]): PricingPlan | null {
    const best = all.find(({ active }) => active)
    const free = readPlans().find(({ code }) => code === 'free')
    return (best && planWith(best.purchase)) ?? free ?? null
  }

  function planWith({ productId, entitlement }: Purchase): PricingPlan | undefined {
    const plans = readPlans()
    const sells = ({ paymentProductId, otherProductIds = [] }: PricingPlan) =>
      [paymentProductId, ...otherProductIds].some((id) => id !== '' && id === productId)
    return plans.find(sells) ?? plans.find(({ code }) => code === entitlement)
  }

  function planOf(user: User): PricingPlan | null {
    return planGivenBy(assess(user, 'production'))
  }

  /** The purchase that gives the plan. */
  function currentPurchase(user: User): Purchase | undefined {
    const best = assess(user, 'production').find(({ active }) => active)?.purchase
    return best && planWith(best) ? best : undefined
  }

  /** Runs `work`, which moves the clock, and tells the apps whose access it has changed. */
  function reportTimeChanges(work: () => void) {
    const states = () =>
      [...users.values()].map((user) => {
        const all = ['production', 'sandbox'].flatMap((name) => assess(user, name))
        return { user, text: all.map(({ status, active }) => `${status} ${active}`).join() }
      })
    const before = states()
    work()
    for (const [at, { user, text }] of states().entries())
      if (before[at]?.text !== text) recordChange(user.id, 'subscription')
  }
}

/** Active ones first, then by the later end. */
function byAccess(a: Access, b: Access): number {
  return (
    Number(b.active) - Number(a.active) || (b.end ?? Number.MAX_VALUE) - (a.end ?? Number.MAX_VALUE)
  )
}

/** What a purchase gives at `now`, as the real server decides it. */
function accessOf(purchase: Purchase, now: number): Access {
  const { expiresAt, graceExpiresAt, endedAt } = purchase
  const periodEnd = expiresAt === null ? null : Math.max(expiresAt, graceExpiresAt ?? 0)
  const end =
    endedAt === null || periodEnd === null ? (endedAt ?? periodEnd) : Math.min(periodEnd, endedAt)
  const active = end === null || end > now
  return { purchase, end, active, status: statusOf(purchase, active, now) }
}

function statusOf(purchase: Purchase, active: boolean, now: number): string {
  const { refundedAt, pausedAt, billingIssueDetectedAt, graceExpiresAt, periodType } = purchase
  if (refundedAt !== undefined) return 'refunded'
  if (!active) return pausedAt === undefined ? 'expired' : 'paused'
  if (billingIssueDetectedAt !== undefined)
    return (graceExpiresAt ?? 0) > now ? 'in_grace_period' : 'in_billing_retry'
  return periodType === 'TRIAL' ? 'trialing' : 'active'
}

function lineOf({ purchase, status, end }: Access): SubscriptionLine {
  const { productId, store, periodType, willRenew, cancelReason } = purchase
  const line: SubscriptionLine = {
    productId,
    store,
    status,
    periodType,
    purchasedAt: iso(purchase.purchasedAt),
    expiresAt: iso(purchase.expiresAt),
    effectiveEndAt: iso(end),
    willRenew,
    ...(cancelReason === undefined ? {} : { cancelReason }),
  }
  const times = [
    'unsubscribeDetectedAt',
    'billingIssueDetectedAt',
    'refundedAt',
    'autoResumeAt',
  ] as const
  for (const name of times) {
    const at = purchase[name]
    if (at !== undefined) line[name] = new Date(at).toISOString()
  }
  return line
}
