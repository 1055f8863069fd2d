import { asc, gt } from 'drizzle-orm'
import type { Log } from '../../../lib/log.ts'
import { type LineAccess, lineAccessAt } from '../lines/access.ts'
import type { Line } from '../lines/line.ts'
import type { BillingDb } from '../schema.ts'
import { type FoldedLine, lineIn } from './folding.ts'

/** By what a pricing plan is bought. */
export type PurchasablePlan = {
  code: string
  paymentProductId: string
  paymentPriceId: string
  otherProductIds?: string[]
}

/** What is paid for, but belongs to no plan on sale: how many active lines, and one of their customers. */
export type Unmatched = {
  productId: string | null
  priceId: string | null
  entitlementIds: string[]
  lines: number
  customerId: string
}

const PAGE = 500
const MAX_REPORTED = 1_000

/** By price, else by product (Google also without its base plan), else by an entitlement named as the plan. */
export function planOf<Plan extends PurchasablePlan>(
  { priceId, productId, entitlementIds }: Line,
  plans: Plan[],
): Plan | undefined {
  const products = [productId, productId?.split(':')[0]]
  const isBoughtBy = ({ paymentProductId, otherProductIds = [] }: Plan) =>
    [paymentProductId, ...otherProductIds].some((id) => id !== '' && products.includes(id))
  return (
    plans.find(({ paymentPriceId }) => paymentPriceId !== '' && paymentPriceId === priceId) ??
    plans.find(isBoughtBy) ??
    plans.find(({ code }) => entitlementIds.includes(code))
  )
}

/** Whether a line gives access to something, and no plan says what it allows. */
function isUnmatched(line: LineAccess, plans: PurchasablePlan[]): boolean {
  return line.active && line.entitlementIds.length > 0 && planOf(line, plans) === undefined
}

/** Says in the log, once a product, that somebody has paid for what no plan names. */
export function createUnmatchedReport(log: Log) {
  const reported = new Set<string>()
  return (lines: LineAccess[], plans: PurchasablePlan[]) => {
    for (const line of lines) {
      const product = `${line.productId} ${line.priceId}`
      if (reported.has(product) || reported.size >= MAX_REPORTED) continue
      if (!isUnmatched(line, plans)) continue
      reported.add(product)
      const { productId, priceId, entitlementIds } = line
      log.warn({ productId, priceId, entitlementIds }, 'paid for, but no plan names the product')
    }
  }
}

type PlanMatchingDeps = {
  db: BillingDb
  listPlans: (wanted: string[]) => Promise<{ plans: PurchasablePlan[] }>
  now: () => Date
}

/** Lists the products of active lines that no plan on sale names, the most frequent first. */
export function createUnmatchedList({ db, listPlans, now }: PlanMatchingDeps) {
  const { subscriptions } = db.tables
  return async (): Promise<Unmatched[]> => {
    const { plans } = await listPlans([])
    const found = new Map<string, Unmatched>()
    for (let after = ''; ; ) {
      const rows = await db.read
        .select()
        .from(subscriptions)
        .where(gt(subscriptions.lineKey, after))
        .orderBy(asc(subscriptions.lineKey))
        .limit(PAGE)
      for (const { state, customerId } of rows) {
        const [line] = lineAccessAt([lineIn(state as FoldedLine)], now().getTime())
        if (line && isUnmatched(line, plans)) count(found, line, customerId)
      }
      const last = rows.at(-1)
      if (!last) return [...found.values()].toSorted((a, b) => b.lines - a.lines)
      after = last.lineKey
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

function count(found: Map<string, Unmatched>, line: LineAccess, customerId: string) {
  const { productId, priceId, entitlementIds } = line
  const key = `${productId} ${priceId}`
  const known = found.get(key) ?? { productId, priceId, entitlementIds, lines: 0, customerId }
  found.set(key, { ...known, lines: known.lines + 1 })
}
