import { asc, eq, sql } from 'drizzle-orm'
import { findActiveSubscriptions } from '../../../lib/active-subscriptions.ts'
import {
  listStandardLimits,
  type StandardLimits,
  withSeats,
} from '../../../lib/time/plan-limits.ts'
import type { ExistingUsers } from '../../../platform/user-table.ts'
import { type Environment, type StoredEnvironment, toEnvironment } from '../environment.ts'
import type { KeyedPurchase, Projection } from '../projection/projection.ts'
import { computeEntitlements, computeRenewal, type PurchaseAccess } from '../purchases/access.ts'
import type { BillingDb } from '../schema.ts'
import { isoTime } from './access-explanation.ts'
import { type AccessSettings, assessWithPlans, environmentsFor } from './assessment.ts'
import type { Holders } from './holders.ts'
import {
  type Catalogue,
  findFreePlan,
  findPaidPlan,
  type PurchasablePlan,
} from './plan-matching.ts'
import type { ProvenAccess } from './proof.ts'

export type PlanLike = PurchasablePlan & {
  _id: string
  name: string
  price: number
  currency: string
  duration: string
} & StandardLimits

type SubscriptionDeps<Plan extends PlanLike> = {
  db: BillingDb
  projection: Projection
  holders: Pick<Holders, 'findLatest'>
  /** In the language that best matches `wanted`. */
  listPlans: (wanted: string[]) => Promise<Catalogue<Plan> & { language: string }>
  existingUsers: ExistingUsers
  accessSettings: AccessSettings
  reportUnmatched: (purchases: PurchaseAccess[], catalogue: Catalogue) => void
  now: () => Date
}

export type Subscription<Plan extends PlanLike> = ReturnType<typeof createSubscription<Plan>>

/** Only a corrupt history has more. */
const MAX_PURCHASES_SHOWN = 100

export function createSubscription<Plan extends PlanLike>(deps: SubscriptionDeps<Plan>) {
  const { db, projection, holders, listPlans, existingUsers } = deps
  const { accessSettings, reportUnmatched, now } = deps
  const { billingAliases } = db.tables
  const findAlias = db.read
    .select({ customerId: billingAliases.customerId })
    .from(billingAliases)
    .where(eq(billingAliases.appUserId, sql.placeholder('userId')))
  /** All app user ids of the customer that has this app user id. */
  const findIds = db.read
    .select({ customerId: billingAliases.customerId, id: billingAliases.appUserId })
    .from(billingAliases)
    .where(eq(billingAliases.customerId, findAlias))
    .orderBy(asc(billingAliases.appUserId))
    .prepare()
  return { read, readPlan, readForExport, listActive, hasAccessSince, isKnown, findCustomer }

  /** A user's subscription, the language of its texts, and the access to sign. `wanted`: languages, best first. */
  async function read(userId: string, environment: Environment, wanted: string[]) {
    const { purchases, plan, paidPurchase, language } = await assess(userId, environment, wanted)
    const entitlements = computeEntitlements(purchases)
    const subscription = {
      environment,
      entitlements: entitlements.map(({ id, active, purchase }) => ({
        id,
        active,
        expiresAt: isoTime(purchase.effectiveEnd),
        gracePeriodExpiresAt: isoTime(purchase.graceExpiresAt),
        productId: purchase.productId,
        store: purchase.store,
        periodType: purchase.periodType,
        willRenew: purchase.willRenew,
      })),
      subscriptions: purchases
        .slice(0, MAX_PURCHASES_SHOWN)
        .map((purchase) => toReply(purchase, environment)),
      plan,
      limits: plan && listStandardLimits(withSeats(plan, paidPurchase?.quantity ?? 1)),
    }
    const describeAccess = (): ProvenAccess => {
      const endsAt = paidPurchase?.effectiveEnd ?? null
      const active = entitlements.filter((entitlement) => entitlement.active)
      return {
        userId,
        environment,
        entitlements: Object.fromEntries(
          active.map(({ id, purchase }) => [id, purchase.effectiveEnd]),
        ),
        plan: plan && { id: plan._id, code: plan.code, endsAt },
      }
    }
    return { subscription, describeAccess, language }
  }

  /** A user's plan in production, and the purchase that gives it; null for none. */
  async function readPlan(userId: string) {
    const { plan, paidPurchase: purchase } = await assess(userId, 'production', [])
    return {
      plan: plan && withSeats(plan, purchase?.quantity ?? 1),
      purchase,
      renewal: purchase && computeRenewal(purchase),
    }
  }

  /** Purchases, best first, the plan that they give, and the purchase that gives it. */
  async function assess(userId: string, environment: Environment, wanted: string[]) {
    const { language, ...catalogue } = await listPlans(wanted)
    const found = await listPurchases(userId, environmentsFor(userId, environment, accessSettings))
    const purchases = assessWithPlans(found, catalogue, now().getTime(), accessSettings)
    reportUnmatched(purchases, catalogue)
    const paid = findPaidPlan(purchases, catalogue)
    const plan = paid?.plan ?? findFreePlan(catalogue)
    return { purchases, plan, paidPurchase: paid?.purchase ?? null, language }
  }

  /** In English, for the data export. */
  async function readForExport(userId: string, environment: Environment) {
    return (await read(userId, environment, ['en'])).subscription
  }

  /** The user's running subscriptions in production, except the purchases with these keys. */
  async function listActive(userId: string, except: string[]) {
    const { purchases } = await assess(userId, 'production', [])
    const others = purchases.filter(({ purchaseKey }) => !except.includes(purchaseKey))
    return findActiveSubscriptions(others.map((purchase) => toReply(purchase, 'production')))
  }

  /** Whether any purchase of a user, in either environment, gives access at `since` or later. */
  async function hasAccessSince(userId: string, since: Date): Promise<boolean> {
    const purchases = await listPurchases(userId, ['PRODUCTION', 'SANDBOX'])
    const assessed = assessWithPlans(
      purchases,
      await listPlans([]),
      since.getTime(),
      accessSettings,
    )
    return assessed.some(({ active }) => active)
  }

  /** Whether an id belongs to a user or was named by an event. */
  async function isKnown(id: string): Promise<boolean> {
    const rows = await findIds.execute({ userId: id })
    return rows.length > 0 || (await existingUsers(db.read, [id])).length > 0
  }

  /** Empty if the customer's purchases belong to another user. */
  async function listPurchases(userId: string, environments: StoredEnvironment[]) {
    const customer = await findCustomer(userId)
    if (customer === null || customer.heldBy !== null) return []
    const purchases: KeyedPurchase[] = []
    for (const environment of environments) {
      purchases.push(...(await projection.listPurchases(customer.customerId, environment)))
    }
    return purchases
  }

  /** The customer and all its ids; null if no event named the id. `heldBy`: another user who has its purchases. */
  async function findCustomer(userId: string) {
    const rows = await findIds.execute({ userId })
    const [first] = rows
    if (!first) return null
    const { customerId } = first
    const ids = rows.map(({ id }) => id)
    const users = ids.length > 1 ? await existingUsers(db.read, ids) : ids
    const holder = users.length > 1 ? await holders.findLatest(db.read, users) : userId
    return { customerId, ids, heldBy: holder === userId ? null : (holder ?? null) }
  }
}

function toReply(purchase: PurchaseAccess, environment: Environment) {
  return {
    productId: purchase.productId,
    ...optionalField('priceId', purchase.priceId),
    store: purchase.store,
    status: purchase.status,
    periodType: purchase.periodType,
    purchasedAt: isoTime(purchase.purchasedAt),
    expiresAt: isoTime(purchase.expiresAt),
    effectiveEndAt: isoTime(purchase.effectiveEnd),
    willRenew: purchase.willRenew,
    ...optionalField('pendingProductId', purchase.pendingProductId),
    ...optionalField('cancelReason', purchase.cancelReason),
    ...optionalField('unsubscribeDetectedAt', isoTime(purchase.unsubscribeDetectedAt)),
    ...optionalField('billingIssueDetectedAt', isoTime(purchase.billingIssueDetectedAt)),
    ...optionalField('refundedAt', isoTime(purchase.refundedAt)),
    ...optionalField('autoResumeAt', isoTime(purchase.autoResumeAt)),
    // Only for testers, whose test purchases give access in production.
    ...(toEnvironment(purchase.environment) === environment ? {} : { isSandbox: true }),
  }
}

function optionalField<K extends string>(name: K, value: string | null): { [key in K]?: string } {
  return value === null ? {} : ({ [name]: value } as { [key in K]?: string })
}
