import { DAY_MS } from '../../../lib/time/durations.ts'
import { computePeriodEnd } from '../../../lib/time/plan-durations.ts'
import { type Environment, type StoredEnvironment, storedEnvironment } from '../environment.ts'
import { assessPurchases, type PurchaseAccess, unlocks } from '../purchases/access.ts'
import type { Purchase } from '../purchases/purchase.ts'
import { type Catalogue, findPlanOfPurchase, type PurchasablePlan } from './plan-matching.ts'

/** Purchase prices are in US dollars. */
const USD = 'USD'

export type AccessSettings = {
  /** How long the store may take to report a renewal, in ms. */
  graceMs: number
  /** Users whose test purchases give access in production. */
  sandboxTesters: ReadonlySet<string>
}

type PricedPlan = PurchasablePlan & { price: number; currency?: string; duration: string }

type FindPlan = (purchase: Purchase) => PricedPlan | undefined

/** Best first, at `now` (ms). Active purchases that unlock nothing, such as coins, come after the other active ones. */
export function assessWithPlans<T extends Purchase>(
  purchases: T[],
  catalogue: Catalogue<PricedPlan>,
  now: number,
  { graceMs }: AccessSettings,
): PurchaseAccess<T>[] {
  const findPlan = (purchase: Purchase) => findPlanOfPurchase(purchase, catalogue)
  const completed = purchases.map((purchase) => withPlan(purchase, findPlan(purchase)))
  const comparablePrice = comparePrices(purchases, findPlan, catalogue.rates)
  const assessed = assessPurchases(completed, now, { comparablePrice, graceMs })
  const rank = (purchase: PurchaseAccess<T>) =>
    purchase.active ? Number(findPlan(purchase) !== undefined) * 2 + Number(unlocks(purchase)) : 0
  const sorted = assessed.toSorted((a, b) => rank(b) - rank(a))
  return placeGrants(sorted, findPlan, comparablePrice)
}

/** Prices in a common currency; 0 for each if a rate is missing or there is nothing to compare. */
function comparePrices(
  purchases: Purchase[],
  findPlan: FindPlan,
  rates: Record<string, number> = {},
): (purchase: Purchase) => number {
  if (purchases.length < 2) return () => 0
  const toOffer = (purchase: Purchase) => {
    const { price, currency = '' } = findPlan(purchase) ?? { price: purchase.price, currency: USD }
    return { price: price ?? 0, currency: currency.toUpperCase() }
  }
  const priced = purchases.map(toOffer).filter(({ price }) => price > 0)
  const currencies = new Set(priced.map(({ currency }) => currency))
  if (currencies.size <= 1) return (purchase) => toOffer(purchase).price
  const isConvertible = [...currencies].every((currency) => (rates[currency] ?? 0) > 0)
  return (purchase) => {
    const { price, currency } = toOffer(purchase)
    return isConvertible && price > 0 ? price / (rates[currency] ?? 1) : 0
  }
}

/** Sorts grants behind active purchases, unless they give a more expensive plan, or the same plan for longer. */
function placeGrants<T extends Purchase>(
  sorted: PurchaseAccess<T>[],
  findPlan: FindPlan,
  comparablePrice: (purchase: Purchase) => number,
): PurchaseAccess<T>[] {
  const toDailyRate = (purchase: PurchaseAccess<T>) =>
    ratePerDay(comparablePrice(purchase), findPlan(purchase))
  const isActiveGrant = ({ active, grant }: PurchaseAccess<T>) => active && grant !== null
  if (!sorted.some(isActiveGrant)) return sorted
  // Sorted by daily rate; grants with the same rate stay sorted by their end.
  const grants = sorted.filter(isActiveGrant).toSorted((a, b) => toDailyRate(b) - toDailyRate(a))
  const others = sorted.filter((purchase) => !isActiveGrant(purchase))
  const [best] = others
  if (!best?.active) return [...grants, ...others]
  const isPlanless = findPlan(best) === undefined
  const isBetter = (grant: PurchaseAccess<T>) =>
    findPlan(grant) === undefined
      ? isPlanless && readEnd(grant) > readEnd(best)
      : isPlanless ||
        toDailyRate(grant) > toDailyRate(best) ||
        (toDailyRate(grant) === toDailyRate(best) && readEnd(grant) > readEnd(best))
  const paid = others.filter(({ active }) => active)
  return [
    ...grants.filter(isBetter),
    ...paid,
    ...grants.filter((grant) => !isBetter(grant)),
    ...others.slice(paid.length),
  ]
}

function readEnd({ effectiveEnd }: PurchaseAccess): number {
  return effectiveEnd ?? Number.POSITIVE_INFINITY
}

/** The price of a plan per day, which makes monthly and yearly plans comparable. Other durations count as yearly. */
function ratePerDay(price: number, plan: PricedPlan | undefined): number {
  return plan === undefined
    ? 0
    : price / ((computePeriodEnd(0, plan.duration) || 365 * DAY_MS) / DAY_MS)
}

export function environmentsFor(
  userId: string,
  environment: Environment,
  { sandboxTesters }: AccessSettings,
): StoredEnvironment[] {
  const isTester = environment === 'production' && sandboxTesters.has(userId)
  return isTester ? ['PRODUCTION', 'SANDBOX'] : [storedEnvironment(environment)]
}

/** If only the product is reported, the plan supplies the entitlements and the end of a prepaid period. */
function withPlan<T extends Purchase>(purchase: T, plan: PricedPlan | undefined): T {
  if (plan === undefined) return purchase
  const { entitlementIds, expiresAt, purchasedAt, startedAt, periodType, stated } = purchase
  const hasNoEnd = stated !== null && expiresAt === null && periodType === 'PREPAID'
  return {
    ...purchase,
    entitlementIds:
      entitlementIds.length > 0 ? entitlementIds : (plan.entitlementIds ?? [plan.code]),
    expiresAt: hasNoEnd ? computePeriodEnd(purchasedAt ?? startedAt, plan.duration) : expiresAt,
  }
}
