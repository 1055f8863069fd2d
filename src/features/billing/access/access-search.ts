import { and, desc, eq, inArray, isNotNull, lt, type SQL } from 'drizzle-orm'
import type { AccessStatus } from '../../../lib/access-status.ts'
import { countUpTo } from '../../../platform/db/key-ranges.ts'
import { isOneTime, type PurchaseAccess, unlocks } from '../purchases/access.ts'
import type { BillingDb } from '../schema.ts'

/** By their access in production. Users must match both. */
type AccessFilter = { status?: AccessStatus | undefined; plan?: string | undefined }

type StatusAndPlan = { status: AccessStatus; plan: string | null }

const NO_ACCESS: StatusAndPlan = { status: 'none', plan: null }

export function createAccessSearch(db: BillingDb) {
  const { accessStates } = db.tables
  const { userId, status, plan } = accessStates
  return { isIndexed, idsBefore, countUpTo: countUsers, filterIds, readAccess }

  /** Whether an index covers the filter. Users with the status `none` have no row to index. */
  function isIndexed(filter: AccessFilter): boolean {
    return filter.plan !== undefined || (filter.status ?? 'none') !== 'none'
  }

  /** The ids of users who match an indexed filter, in descending order, below `before`. */
  async function idsBefore(filter: AccessFilter, before: string | null, limit: number) {
    const rows = await db.read
      .select({ id: userId })
      .from(accessStates)
      .where(and(toCondition(filter), before === null ? undefined : lt(userId, before)))
      .orderBy(desc(userId))
      .limit(limit)
    return rows.map(({ id }) => id)
  }

  /** Counts up to `max`. */
  function countUsers(filter: AccessFilter, max: number): Promise<number> {
    return countUpTo(db.read, accessStates, userId, toCondition(filter), max)
  }

  async function filterIds(filter: AccessFilter, ids: string[]): Promise<Set<string>> {
    const findAccess = await readAccess(ids)
    const matches = ({ status, plan }: StatusAndPlan) =>
      (filter.status ?? status) === status && (filter.plan ?? plan) === plan
    return new Set(ids.filter((id) => matches(findAccess(id))))
  }

  async function readAccess(ids: string[]): Promise<(id: string) => StatusAndPlan> {
    if (ids.length === 0) return () => NO_ACCESS
    const rows = await db.read
      .select({ id: userId, status, plan })
      .from(accessStates)
      .where(and(inArray(userId, ids), isNotNull(status)))
    const found = new Map(rows.map(({ id, ...facts }) => [id, facts as StatusAndPlan]))
    return (id) => found.get(id) ?? NO_ACCESS
  }

  function toCondition(filter: AccessFilter): SQL | undefined {
    return and(
      filter.status === undefined ? undefined : eq(status, filter.status),
      filter.plan === undefined ? undefined : eq(plan, filter.plan),
    )
  }
}

/** The status of a user with these purchases, which are sorted best first; null for none. */
export function computeAccessStatus(purchases: PurchaseAccess[]): AccessStatus | null {
  const subscribed = purchases.filter((purchase) => !isOneTime(purchase))
  const best = subscribed.find((purchase) => purchase.active && unlocks(purchase)) ?? subscribed[0]
  if (best === undefined) return null
  const { active, grant, status, willRenew, unsubscribeDetectedAt, cancelReason } = best
  if (!active) return 'expired'
  if (!unlocks(best)) return 'unlocks_nothing'
  if (grant !== null) return 'granted'
  if (status === 'in_grace_period' || status === 'in_billing_retry') return 'billing_issue'
  const isCancelled = unsubscribeDetectedAt !== null || cancelReason !== null
  if (!willRenew && isCancelled) return 'cancelled'
  return status === 'trialing' ? 'trial' : 'paying'
}
