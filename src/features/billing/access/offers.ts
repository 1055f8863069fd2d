import { inArray } from 'drizzle-orm'
import type { Log } from '../../../lib/log/log.ts'
import { addMonths, MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareUpsert } from '../../../platform/db/prepared.ts'
import type { Period } from '../business/periods.ts'
import { createSumRows } from '../business/sum-rows.ts'
import type { StoredEnvironment } from '../environment.ts'
import { readPurchase } from '../projection/fold-state.ts'
import { assessPurchases, isOneTime, type PurchaseAccess, unlocks } from '../purchases/access.ts'
import type { Purchase } from '../purchases/purchase.ts'
import { parsePurchaseKey } from '../purchases/purchase-key.ts'
import type { BillingDb } from '../schema.ts'
import { type Catalogue, findPlanOfPurchase, formatOffer, parseOffer } from './plan-matching.ts'

/**
 * A paid product that no plan includes. `unlocks`: whether it still gives entitlements. `lines`: its active
 * purchases, counted within minutes. `customerId`: the customer of its newest purchase.
 */
export type UnmatchedProduct = {
  productId: string | null
  priceId: string | null
  entitlementIds: string[]
  environment: StoredEnvironment
  unlocks: boolean
  lines: number
  customerId: string
}

type OffersDeps = {
  db: BillingDb
  listPlans: (wanted: string[]) => Promise<Catalogue>
  log: Log
  now: () => Date
}

const REFRESH_MS = MINUTE_MS
const MAX_REMEMBERED = 1_000

/** Remembers which products are paid for, so that products without a plan are found without reading all purchases. */
export function createOffers({ db, listPlans, log, now }: OffersDeps) {
  const { purchasedOffers, subscriptions } = db.tables
  const store = prepareUpsert(db, purchasedOffers)
  const remembered = new Map<string, { purchaseKey: string; at: number; isCoin: boolean }>()
  const reported = new Set<string>()
  return { remember, rememberCounted, report, listUnmatched }

  async function remember(tx: Tx, purchaseKey: string, purchase: Purchase) {
    const isCoin = purchase.periodType === 'CONSUMABLE'
    const isActive = (at: number) => isCoin || assessPurchases([purchase], at).some(isPaidFor)
    await storeOnce(tx, purchaseKey, formatOffer(purchase), isActive, isCoin)
  }

  /** Remembers products from before this table, when counting reaches their purchases. */
  async function rememberCounted(tx: Tx, purchaseKey: string, periods: Period[]) {
    const last = periods.at(-1)
    if (last === undefined) return
    const isActive = (at: number) => last.kind === 'once' || last.endsAt > at
    await storeOnce(tx, purchaseKey, last.offer, isActive)
  }

  /**
   * At most once a minute for each product: an almost newest purchase is good enough. A consumed purchase stays, because
   * the next ones will be consumed too.
   */
  async function storeOnce(
    tx: Tx,
    purchaseKey: string,
    offer: string,
    isActive: (at: number) => boolean,
    isCoin = false,
  ) {
    const { environment } = parsePurchaseKey(purchaseKey)
    const key = `${environment} ${offer}`
    const at = now().getTime()
    const known = remembered.get(key)
    if (known?.isCoin) return
    const isKnownPurchase = known?.purchaseKey === purchaseKey
    const isRecent = !isCoin && known !== undefined && at >= known.at && at - known.at < REFRESH_MS
    if (isRecent && !isKnownPurchase) return
    if (!isActive(at)) {
      // The product's next active purchase replaces it.
      if (isKnownPurchase) remembered.delete(key)
      return
    }
    if (isRecent) return
    await store(tx, { environment, offer, purchaseKey })
    tx.afterCommit(() => {
      if (remembered.size >= MAX_REMEMBERED) remembered.clear()
      remembered.set(key, { purchaseKey, at, isCoin })
    })
  }

  /** Logs each product once. */
  function report(purchases: PurchaseAccess[], catalogue: Catalogue) {
    for (const purchase of purchases) {
      const { productId, priceId, entitlementIds } = purchase
      const product = `${productId} ${priceId}`
      if (reported.has(product) || reported.size >= MAX_REMEMBERED) continue
      if (!isPaidFor(purchase) || findPlanOfPurchase(purchase, catalogue) !== undefined) continue
      reported.add(product)
      log.warn({ productId, priceId, entitlementIds }, 'a paid product does not belong to any plan')
    }
  }

  /** Products that unlock nothing come first, then those with the most purchases. */
  async function listUnmatched(): Promise<UnmatchedProduct[]> {
    const catalogue = await listPlans([])
    const rows = await db.read.select().from(purchasedOffers)
    const unmatched = rows.filter(
      ({ offer }) => findPlanOfPurchase(parseOffer(offer), catalogue) === undefined,
    )
    if (unmatched.length === 0) return []
    const [counts, newest] = await Promise.all([countActive(), findNewest(unmatched)])
    const products = unmatched.map(({ environment, offer, purchaseKey }) => {
      const { productId, priceId, entitlementIds } = parseOffer(offer)
      const { customerId = '', isActive = false } = newest.get(purchaseKey) ?? {}
      const lines = Math.max(counts.get(`${environment} ${offer}`) ?? 0, Number(isActive))
      const offered = { productId, priceId, entitlementIds, environment }
      return { ...offered, unlocks: unlocks({ entitlementIds }), lines, customerId }
    })
    return products
      .filter(({ lines }) => lines > 0)
      .toSorted((a, b) => Number(a.unlocks) - Number(b.unlocks) || b.lines - a.lines)
  }

  /** Active subscriptions as the business figures count them, by environment and offer. */
  async function countActive() {
    const today = now().toISOString().slice(0, 10)
    const lastMonth = new Date(addMonths(now().getTime(), -1)).toISOString().slice(0, 7)
    const counts = new Map<string, number>()
    for (const environment of ['PRODUCTION', 'SANDBOX'] as const) {
      const sums = createSumRows(db, environment)
      const series = ['active.plan', 'trials.plan']
      const parts = [
        await sums.totals(
          series.map((name) => `${name}.month`),
          '',
          lastMonth,
        ),
        await sums.totals(
          series.map((name) => `${name}.day`),
          `${today.slice(0, 7)}-01`,
          today,
        ),
      ]
      for (const { item, sum } of parts.flat()) {
        const key = `${environment} ${item}`
        counts.set(key, (counts.get(key) ?? 0) + sum)
      }
    }
    return counts
  }

  async function findNewest(offers: { purchaseKey: string }[]) {
    const keys = offers.map(({ purchaseKey }) => purchaseKey)
    const rows = await db.read
      .select()
      .from(subscriptions)
      .where(inArray(subscriptions.purchaseKey, keys.slice(0, MAX_REMEMBERED)))
    return new Map(
      rows.map(({ purchaseKey, customerId, state }) => {
        const [purchase] = assessPurchases([readPurchase(state)], now().getTime())
        return [
          purchaseKey,
          { customerId, isActive: purchase !== undefined && isPaidFor(purchase) },
        ]
      }),
    )
  }
}

/** Whether a plan should include the product. Only stores distinguish coins from products that unlock forever. */
function isPaidFor(purchase: PurchaseAccess): boolean {
  const { active, grant, status, stated } = purchase
  const isCoin = stated === null ? isOneTime(purchase) : status === 'consumed'
  return active && grant === null && !isCoin
}
