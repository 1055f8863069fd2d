import { asc, gt } from 'drizzle-orm'
import { yieldToEventLoop } from '../../../lib/concurrency/yield-to-event-loop.ts'
import type { Log } from '../../../lib/log/log.ts'
import { readPurchase } from '../projection/fold-state.ts'
import { assessPurchases, type PurchaseAccess } from '../purchases/access.ts'
import type { Purchase } from '../purchases/purchase.ts'
import type { BillingDb } from '../schema.ts'

export type PurchasablePlan = {
  code: string
  paymentProductId: string
  paymentPriceId: string
  otherProductIds?: string[]
  entitlementIds?: string[]
}

/** `archived`: no longer on sale, but existing subscribers keep them. */
export type Catalogue<Plan extends PurchasablePlan = PurchasablePlan> = {
  plans: Plan[]
  archived: Plan[]
  /** Units of each currency for one unit of the same base, to compare prices. */
  rates?: Record<string, number>
}

export type Offer = Pick<Purchase, 'priceId' | 'productId' | 'entitlementIds' | 'grant'>

/** `lines`: the number of its active purchases; `customerId`: a customer with one. */
export type UnmatchedProduct = {
  productId: string | null
  priceId: string | null
  entitlementIds: string[]
  lines: number
  customerId: string
}

const PAGE_SIZE = 500
const MAX_REPORTED = 1_000

/** It may be archived. */
export function findPlanOfPurchase<Plan extends PurchasablePlan>(
  offer: Offer,
  { plans, archived }: Catalogue<Plan>,
): Plan | undefined {
  return matchPlan(plans, offer) ?? matchPlan(archived, offer)
}

/**
 * By price, else by product, else by Google's product without the base plan, else by an entitlement named like its
 * code.
 */
function matchPlan<Plan extends PurchasablePlan>(
  plans: Plan[],
  { priceId, productId, entitlementIds, grant }: Offer,
): Plan | undefined {
  const findSeller = (product: string | undefined) =>
    plans.find(
      ({ paymentProductId, otherProductIds = [] }) =>
        product && [paymentProductId, ...otherProductIds].includes(product),
    )
  return (
    plans.find(({ paymentPriceId }) => paymentPriceId !== '' && paymentPriceId === priceId) ??
    findSeller(productId ?? undefined) ??
    findSeller(productId?.split(':')[0]) ??
    plans.find(({ code }) => entitlementIds.includes(code)) ??
    (grant === null ? undefined : findSmallestPlan(entitlementIds, plans))
  )
}

/** What decides which purchases give a plan, and which of a user's plans counts. */
export function findMatchingFields(
  plan: PurchasablePlan & { price: number; currency: string; duration: string },
) {
  const { code, paymentProductId, paymentPriceId, otherProductIds, entitlementIds } = plan
  const { price, currency, duration } = plan
  const ids = [code, paymentProductId, paymentPriceId, otherProductIds, entitlementIds]
  return [...ids, price, currency, duration]
}

/** Granted access names no product, so it gives the plan with the fewest other entitlements. */
function findSmallestPlan<Plan extends PurchasablePlan>(entitlementIds: string[], plans: Plan[]) {
  const countEntitlements = ({ entitlementIds: ids = [] }: Plan) => ids.length
  return plans
    .filter(({ entitlementIds: ids = [] }) => ids.some((id) => entitlementIds.includes(id)))
    .toSorted((a, b) => countEntitlements(a) - countEntitlements(b))[0]
}

/** The plan of the best active purchase, else the plan `free`, else null. `purchases`: best first. */
export function findGivenPlan<Plan extends PurchasablePlan>(
  purchases: PurchaseAccess[],
  catalogue: Catalogue<Plan>,
): Plan | null {
  const free = catalogue.plans.find(({ code }) => code === 'free')
  return findPaidPlan(purchases, catalogue)?.plan ?? free ?? null
}

/** The best active purchase and its plan; null if it belongs to none. `purchases`: best first. */
export function findPaidPlan<Plan extends PurchasablePlan, T extends PurchaseAccess>(
  purchases: T[],
  catalogue: Catalogue<Plan>,
) {
  const purchase = purchases.find(({ active }) => active)
  const plan = purchase && findPlanOfPurchase(purchase, catalogue)
  return plan ? { purchase, plan } : null
}

/** The purchases without those that belong to no plan, give no entitlement and never expire, such as coins. */
export function withoutUnassigned<T extends PurchaseAccess>(
  purchases: T[],
  catalogue: Catalogue,
): T[] {
  return purchases.filter(
    (purchase) =>
      purchase.expiresAt !== null ||
      purchase.entitlementIds.length > 0 ||
      findPlanOfPurchase(purchase, catalogue) !== undefined,
  )
}

/** Whether a purchase gives access but belongs to no plan. */
function isUnmatched(purchase: PurchaseAccess, catalogue: Catalogue): boolean {
  return (
    purchase.active &&
    purchase.grant === null &&
    (purchase.entitlementIds.length > 0 || purchase.stated !== null) &&
    findPlanOfPurchase(purchase, catalogue) === undefined
  )
}

type ListPlans = (wanted: string[]) => Promise<Catalogue>

export function createUnmatchedReport(log: Log, listPlans: ListPlans) {
  const reported = new Map<string, Offer>()
  return { report, stillUnmatched }

  /** Once per product. */
  function report(purchases: PurchaseAccess[], catalogue: Catalogue) {
    for (const purchase of purchases) {
      const product = `${purchase.productId} ${purchase.priceId}`
      if (reported.has(product) || reported.size >= MAX_REPORTED) continue
      if (!isUnmatched(purchase, catalogue)) continue
      const { productId, priceId, entitlementIds, grant } = purchase
      reported.set(product, { productId, priceId, entitlementIds, grant })
      log.warn({ productId, priceId, entitlementIds }, 'a paid product does not belong to any plan')
    }
  }

  /** The reported products that no plan includes yet. */
  async function stillUnmatched(): Promise<string[]> {
    const catalogue = await listPlans([])
    const offers = [...reported.values()].filter(
      (offer) => findPlanOfPurchase(offer, catalogue) === undefined,
    )
    return [...new Set(offers.flatMap(({ productId }) => productId ?? []))]
  }
}

type PlanMatchingDeps = {
  db: BillingDb
  listPlans: ListPlans
  now: () => Date
}

/** Most frequent first. */
export function createUnmatchedList({ db, listPlans, now }: PlanMatchingDeps) {
  const { subscriptions } = db.tables
  return async (): Promise<UnmatchedProduct[]> => {
    const catalogue = await listPlans([])
    const found = new Map<string, UnmatchedProduct>()
    for (let after = ''; ; ) {
      const rows = await db.read
        .select()
        .from(subscriptions)
        .where(gt(subscriptions.purchaseKey, after))
        .orderBy(asc(subscriptions.purchaseKey))
        .limit(PAGE_SIZE)
      for (const { state, customerId } of rows) {
        const [purchase] = assessPurchases([readPurchase(state)], now().getTime())
        if (purchase && isUnmatched(purchase, catalogue)) addToCount(found, purchase, customerId)
      }
      const last = rows.at(-1)
      if (!last) return [...found.values()].toSorted((a, b) => b.lines - a.lines)
      after = last.purchaseKey
      await yieldToEventLoop()
    }
  }
}

function addToCount(
  found: Map<string, UnmatchedProduct>,
  purchase: PurchaseAccess,
  customerId: string,
) {
  const { productId, priceId, entitlementIds } = purchase
  const key = `${productId} ${priceId}`
  const known = found.get(key) ?? { productId, priceId, entitlementIds, lines: 0, customerId }
  found.set(key, { ...known, lines: known.lines + 1 })
}
