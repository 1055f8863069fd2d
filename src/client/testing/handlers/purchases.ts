import type { Renewal } from '../../../lib/time/durations.ts'
import { listStandardLimits } from '../../../lib/time/plan-limits.ts'
import type { PricingPlan, Subscription } from '../../models.ts'
import type { Handlers } from '../handler-types.ts'
import { signProof } from '../proof.ts'
import type { Purchase, State, User } from '../state.ts'
import type { SubscriptionGrant, UserReference } from '../types.ts'
import {
  type Access,
  assess,
  compareAccess,
  toEntitlement,
  toLine,
  toPurchase,
} from './purchase.ts'

export type Purchases = ReturnType<typeof createPurchases>

/** Purchases, and the access that they give at the time of the virtual clock. */
export function createPurchases(state: State, readPlans: () => PricingPlan[]) {
  const { clock, find, users, resolve, recordChange, newId } = state
  const handlers = {
    async readSubscription(_input, { userId, query }) {
      const subscription = read(find(userId), query['environment'])
      if (query['proof'] !== 'true') return subscription
      return { ...subscription, proof: await signProof(userId, subscription, clock.now) }
    },
  } satisfies Partial<Handlers>
  return { handlers, grant, create, read, findPlan, findRenewal, reportTimeChanges }

  /** Replaces the user's purchase of the same product. */
  function grant(reference: UserReference, wanted: SubscriptionGrant) {
    const user = resolve(reference)
    const purchase = create(wanted)
    const isOther = ({ details }: Purchase) => details.productId !== purchase.details.productId
    user.purchases = [...user.purchases.filter(isOther), purchase]
    recordChange(user.id, 'subscription')
  }

  function create(wanted: SubscriptionGrant): Purchase {
    const { entitlement = 'pro' } = wanted
    const plan = readPlans().find(({ code, entitlementIds = [code] }) =>
      entitlementIds.includes(entitlement),
    )
    const productId = plan?.paymentProductId || entitlement
    return toPurchase(wanted, { productId, transactionId: newId(), now: clock.now })
  }

  function read(user: User, environment = 'production'): Subscription {
    const all = assessAll(user, environment)
    const plan = findPlanAmong(all)
    const entitlements = new Map<string, Access>()
    for (const access of all.toSorted(compareAccess).toReversed())
      entitlements.set(access.purchase.entitlement, access)
    return {
      environment,
      entitlements: [...entitlements.values()]
        .map(toEntitlement)
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
      subscriptions: all.map(toLine),
      plan,
      limits: plan && listStandardLimits(plan),
    }
  }

  /** The user's purchases in an environment: active ones first, those with a plan before others, then by the later end. */
  function assessAll(user: User, environment: string): Access[] {
    const hasPlan = ({ purchase, active }: Access) => active && findPlanWith(purchase) !== undefined
    return user.purchases
      .filter((purchase) => purchase.environment === environment)
      .map((purchase) => assess(purchase, clock.now))
      .sort((a, b) => Number(hasPlan(b)) - Number(hasPlan(a)) || compareAccess(a, b))
  }

  function findPlanWith({ details, entitlement }: Purchase): PricingPlan | undefined {
    const plans = readPlans()
    const sells = ({ paymentProductId, otherProductIds = [] }: PricingPlan) =>
      [paymentProductId, ...otherProductIds].includes(details.productId)
    return plans.find(sells) ?? plans.find(({ code }) => code === entitlement)
  }

  function findPlanAmong(all: Access[]): PricingPlan | null {
    const best = all.find(({ active }) => active)
    const free = readPlans().find(({ code }) => code === 'free')
    return (best && findPlanWith(best.purchase)) ?? free ?? null
  }

  function findPlan(user: User): PricingPlan | null {
    return findPlanAmong(assessAll(user, 'production'))
  }

  /** The period of the purchase that gives the plan; null if there is none. */
  function findRenewal(user: User): Renewal | null {
    const best = assessAll(user, 'production').find(({ active }) => active)?.purchase
    if (!best || !findPlanWith(best)) return null
    const { purchasedAt, expiresAt, details } = best
    const startedAt = new Date(purchasedAt)
    const endsAt = Number.isFinite(expiresAt) ? new Date(expiresAt) : null
    const renews = details.willRenew || details.billingIssueDetectedAt !== undefined
    return { startedAt, firstStartedAt: startedAt, endsAt, renews }
  }

  /** Runs `work`, which moves the clock, and notifies the apps whose access has changed. */
  function reportTimeChanges(work: () => void) {
    const readStates = () =>
      [...users.values()].map((user) => {
        const all = user.purchases.map((purchase) => assess(purchase, clock.now))
        return { user, text: all.map(({ status, active }) => `${status} ${active}`).join() }
      })
    const before = readStates()
    work()
    for (const [at, { user, text }] of readStates().entries())
      if (before[at]?.text !== text) recordChange(user.id, 'subscription')
  }
}
