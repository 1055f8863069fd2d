import { asc, desc, eq, sql } from 'drizzle-orm'
import type { Reader } from '../../../platform/db/db.ts'
import { entitlementsOf, type LineAccess, lineAccessAt } from '../lines/access.ts'
import type { Line } from '../lines/line.ts'
import type { BillingDb } from '../schema.ts'
import { type PurchasablePlan, planOf } from './plan-matching.ts'
import type { Projection } from './projection.ts'

/** What of a pricing plan matters here: by what it is bought, and what it allows. */
export type PlanLike = PurchasablePlan & { price: number } & Record<(typeof LIMITS)[number], number>

type SubscriptionDeps<Plan extends PlanLike> = {
  db: BillingDb
  projection: Projection
  /** The plans on sale, in the language that suits best of those that are wanted. */
  listPlans: (wanted: string[]) => Promise<{ plans: Plan[]; language: string }>
  /** Those of `ids` that are users. */
  existingUsers: (from: Reader, ids: string[]) => Promise<string[]>
  /** Told of what somebody has paid for. */
  reportUnmatched: (lines: LineAccess[], plans: PurchasablePlan[]) => void
  now: () => Date
}

export type Subscription<Plan extends PlanLike> = ReturnType<typeof createSubscription<Plan>>
export type Environment = 'production' | 'sandbox'

/** The best ones; only a corrupted history has more. */
const LINES_SHOWN = 100
const YEAR_10000 = Date.UTC(10_000, 0)
const LIMITS = [
  'seatLimit',
  'appLimit',
  'keywordLimit',
  'apiRequestLimit',
  'competitorLimitPerApp',
  'aiMonthlyCreditLimit',
  'storefrontLimit',
] as const

/** Who has paid, and what for: facts from the fold, judged at the instant of asking. */
export function createSubscription<Plan extends PlanLike>(deps: SubscriptionDeps<Plan>) {
  const { db, projection, listPlans, existingUsers, reportUnmatched, now } = deps
  const { billingAliases, billingEvents } = db.tables
  const ownAlias = db.read
    .select({ customerId: billingAliases.customerId })
    .from(billingAliases)
    .where(eq(billingAliases.appUserId, sql.placeholder('userId')))
    .prepare()
  const idsOf = db.read
    .select({ id: billingAliases.appUserId })
    .from(billingAliases)
    .where(eq(billingAliases.customerId, sql.placeholder('customerId')))
    .orderBy(asc(billingAliases.appUserId))
    .prepare()
  const latestNaming = db.read
    .select({ appUserId: billingEvents.appUserId, orderedAt: billingEvents.orderedAt })
    .from(billingEvents)
    .where(eq(billingEvents.appUserId, sql.placeholder('id')))
    .orderBy(desc(billingEvents.orderedAt))
    .limit(1)
    .prepare()
  return { read, readFor, hasAccessSince, isKnown, holderOf }

  /** What a user has, and the language of the texts in it. `wanted`: languages, best first. */
  async function read(userId: string, environment: Environment, wanted: string[]) {
    const { plans, language } = await listPlans(wanted)
    const price = (line: Line) => planOf(line, plans)?.price ?? line.price ?? 0
    const lines = lineAccessAt(await linesOf(userId, environment), now().getTime(), price)
    reportUnmatched(lines, plans)
    const best = lines.find(({ active }) => active)
    const plan = (best && planOf(best, plans)) ?? plans.find(({ code }) => code === 'free') ?? null
    const subscription = {
      environment,
      entitlements: entitlementsOf(lines).map(({ id, active, line }) => ({
        id,
        active,
        expiresAt: iso(line.effectiveEnd),
        gracePeriodExpiresAt: iso(line.graceExpiresAt),
        productId: line.productId,
        store: line.store,
        periodType: line.periodType,
        willRenew: line.willRenew,
      })),
      subscriptions: lines.slice(0, LINES_SHOWN).map(show),
      plan,
      limits: plan && limitsOf(plan),
    }
    return { subscription, language }
  }

  /** The same in English, for the export. */
  async function readFor(userId: string, environment: Environment) {
    return (await read(userId, environment, ['en'])).subscription
  }

  /** Whether a purchase of a user, in either environment, gives access at `since` or later. */
  async function hasAccessSince(userId: string, since: Date): Promise<boolean> {
    for (const environment of ['production', 'sandbox'] as const) {
      const lines = await linesOf(userId, environment)
      if (lineAccessAt(lines, since.getTime()).some(({ active }) => active)) return true
    }
    return false
  }

  /** Whether an id is that of a user, or of somebody whom an event has named. */
  async function isKnown(id: string): Promise<boolean> {
    const [alias] = await ownAlias.execute({ userId: id })
    return alias !== undefined || (await existingUsers(db.read, [id])).length > 0
  }

  /** Nothing when another of our users holds the same customer: the one whom the latest event names. */
  async function linesOf(userId: string, environment: Environment): Promise<Line[]> {
    const holder = await holderOf(userId)
    if (holder === null || holder.heldBy !== null) return []
    return projection.linesOf(holder.customerId, environment.toUpperCase())
  }

  /**
   * The customer that an id belongs to, with all of the customer's ids; null when no event has named it. `heldBy`:
   * another of our users, to whom the customer's lines count.
   */
  async function holderOf(userId: string) {
    const [alias] = await ownAlias.execute({ userId })
    if (!alias) return null
    const { customerId } = alias
    const ids = (await idsOf.execute({ customerId })).map(({ id }) => id)
    const people = ids.length > 1 ? await existingUsers(db.read, ids) : ids
    const holder = people.length > 1 ? await lastNamed(people) : userId
    return { customerId, ids, heldBy: holder === userId ? null : (holder ?? null) }
  }

  /** The user whom the latest event names. */
  async function lastNamed(ids: string[]): Promise<string | null | undefined> {
    let latest: { appUserId: string | null; orderedAt: number } | undefined
    for (const id of ids.toSorted().toReversed()) {
      const [row] = await latestNaming.execute({ id })
      if (row && (latest === undefined || row.orderedAt > latest.orderedAt)) latest = row
    }
    return latest?.appUserId
  }
}

function show(line: LineAccess) {
  return {
    productId: line.productId,
    ...given('priceId', line.priceId),
    store: line.store,
    status: line.status,
    periodType: line.periodType,
    purchasedAt: iso(line.purchasedAt),
    expiresAt: iso(line.expiresAt),
    effectiveEndAt: iso(line.effectiveEnd),
    willRenew: line.willRenew,
    ...given('pendingProductId', line.pendingProductId),
    ...given('cancelReason', line.cancelReason),
    ...given('unsubscribeDetectedAt', iso(line.unsubscribeDetectedAt)),
    ...given('billingIssueDetectedAt', iso(line.billingIssueDetectedAt)),
    ...given('refundedAt', iso(line.refundedAt)),
    ...given('autoResumeAt', iso(line.autoResumeAt)),
  }
}

function limitsOf(plan: PlanLike) {
  const entries = LIMITS.map((name) => [name, plan[name]])
  return Object.fromEntries(entries) as Pick<PlanLike, (typeof LIMITS)[number]>
}

function given<K extends string>(name: K, value: string | null): { [key in K]?: string } {
  return value === null ? {} : ({ [name]: value } as { [key in K]?: string })
}

/** ISO 8601; null also for years of five digits, which no app can read: they mean never. */
function iso(ms: number | null): string | null {
  return ms === null || ms >= YEAR_10000 ? null : new Date(ms).toISOString()
}
