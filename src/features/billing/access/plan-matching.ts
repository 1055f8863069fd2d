import { type PurchaseAccess, unlocks } from '../purchases/access.ts'
import type { Purchase } from '../purchases/purchase.ts'

export type PurchasablePlan = {
  code: string
  paymentProductId: string
  paymentPriceId: string
  otherProductIds?: string[]
  entitlementIds?: string[]
}

/** `archived`: no longer on sale, but kept by existing subscribers. */
export type Catalogue<Plan extends PurchasablePlan = PurchasablePlan> = {
  plans: Plan[]
  archived: Plan[]
  /** Units of each currency per unit of a common base, to compare prices. */
  rates?: Record<string, number>
}

/** A price at a store has neither entitlements nor a grant. */
export type Offer = Pick<Purchase, 'priceId' | 'productId'> &
  Partial<Pick<Purchase, 'entitlementIds' | 'grant'>>

const MAX_ENTITLEMENTS = 5

/** The fields that a plan is matched by, as JSON. */
export function formatOffer({ productId, priceId, entitlementIds = [] }: Offer): string {
  return JSON.stringify([productId, priceId, entitlementIds.slice(0, MAX_ENTITLEMENTS)])
}

export function parseOffer(text: string) {
  const [productId, priceId, entitlementIds] = JSON.parse(text) as [
    string | null,
    string | null,
    string[],
  ]
  return { productId, priceId, entitlementIds }
}

/** The plan may be archived. */
export function findPlanOfPurchase<Plan extends PurchasablePlan>(
  offer: Offer,
  { plans, archived }: Catalogue<Plan>,
): Plan | undefined {
  return matchPlan(plans, offer) ?? matchPlan(archived, offer)
}

/**
 * Matches by price (or a former price among the other ids), else by product, else by Google's product without the
 * base plan, else by an entitlement named like the plan's code.
 */
function matchPlan<Plan extends PurchasablePlan>(
  plans: Plan[],
  { priceId, productId, entitlementIds = [], grant = null }: Offer,
): Plan | undefined {
  const findSeller = (product: string | undefined) =>
    plans.find(
      ({ paymentProductId, otherProductIds = [] }) =>
        product && [paymentProductId, ...otherProductIds].includes(product),
    )
  return (
    plans.find(({ paymentPriceId }) => paymentPriceId !== '' && paymentPriceId === priceId) ??
    findSeller(priceId ?? undefined) ??
    findSeller(productId ?? undefined) ??
    findSeller(productId?.split(':')[0]) ??
    plans.find(({ code }) => entitlementIds.includes(code)) ??
    (grant === null ? undefined : findSmallestPlan(entitlementIds, plans))
  )
}

/** The fields that decide which purchases give a plan, and which of a user's plans counts. */
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
  return findPaidPlan(purchases, catalogue)?.plan ?? findFreePlan(catalogue)
}

export function findFreePlan<Plan extends PurchasablePlan>({
  plans,
}: Catalogue<Plan>): Plan | null {
  return plans.find(({ code }) => code === 'free') ?? null
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

/** The purchases that give a plan or an entitlement: not coins, nor products missing from every plan. */
export function listUnlocking<T extends PurchaseAccess>(purchases: T[], catalogue: Catalogue): T[] {
  return purchases.filter(
    (purchase) => unlocks(purchase) || findPlanOfPurchase(purchase, catalogue) !== undefined,
  )
}
