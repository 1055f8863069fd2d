import { and, desc, eq, inArray } from 'drizzle-orm'
import {
  type Environment,
  type StoredEnvironment,
  storedEnvironment,
  toEnvironment,
} from '../environment.ts'
import type { Attribution } from '../inbox/attribution.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { Projection } from '../projection/projection.ts'
import { activeEntitlementIds, isOneTime, type PurchaseAccess } from '../purchases/access.ts'
import type { OrderedEvent } from '../purchases/event-order.ts'
import { findSource, type Purchase } from '../purchases/purchase.ts'
import { parsePurchaseKey } from '../purchases/purchase-key.ts'
import { type BillingDb, INDEX_CONDITIONS } from '../schema.ts'
import { describeFailure, explainAccess, findPlanTitle, isoTime } from './access-explanation.ts'
import { computeAccessStatus } from './access-search.ts'
import { type AccessSettings, assessWithPlans, environmentsFor } from './assessment.ts'
import { type Catalogue, findPlanOfPurchase, listUnlocking } from './plan-matching.ts'
import { createPurchaseHistory } from './purchase-history.ts'
import type { PlanLike, Subscription } from './subscription.ts'

type TimelineDeps<Plan extends PlanLike> = {
  db: BillingDb
  subscription: Pick<Subscription<Plan>, 'findCustomer'>
  eventLog: Pick<EventLog, 'readRows'>
  projection: Pick<Projection, 'listPurchases'>
  listPlans: (wanted: string[]) => Promise<Catalogue<Plan>>
  accessSettings: AccessSettings
  /** The app user id that the purchase's latest claim names; null for none. */
  findClaimant: (purchaseKey: string) => Promise<string | null>
  /** The operator's link of the purchase to its user; null if there is none, or the user has submitted it since. */
  findLink: (purchaseKey: string) => Promise<(Attribution & { id: string; at: string }) | null>
  now: () => Date
}

export type Timeline = ReturnType<typeof createTimeline>

type KeyedPurchase = PurchaseAccess<Purchase & { purchaseKey: string }>

const MAX_PURCHASES_SHOWN = 50
const MAX_TRANSFERS_SHOWN = 50
/** A user's purchases with their events, and the reason for the access. */
export function createTimeline<Plan extends PlanLike>(deps: TimelineDeps<Plan>) {
  const { db, eventLog, projection, subscription, listPlans, accessSettings } = deps
  const { findClaimant, findLink, now } = deps
  const { billingEvents, transferIds } = db.tables
  const readHistory = createPurchaseHistory(db, eventLog)
  return { read, readHistory, explain, explainForEvent, summarize }

  /** The current access in a few words, and whether an event is missing from it. */
  async function explain(userId: string, environment: Environment): Promise<string> {
    return (await assess(userId, environment)).explanation
  }

  /** Explains the access of the user that an event names; null if it names none. The event itself may have failed. */
  async function explainForEvent(event: {
    appUserId: string | null
    environment: StoredEnvironment | null
  }) {
    const { appUserId, environment } = event
    if (appUserId === null) return null
    return (await assess(appUserId, toEnvironment(environment ?? 'PRODUCTION'))).sentence
  }

  /** A user's access in production at a glance. `endsAt` null: never, or no subscription. */
  async function summarize(userId: string) {
    const { sentence, purchases, catalogue, heldBy, failure } = await assess(userId, 'production')
    const own = heldBy === null ? purchases : []
    const held = listUnlocking(own, catalogue)
    const [best = own.find((purchase) => !isOneTime(purchase))] = held
    const end = best?.effectiveEnd ?? null
    return {
      sentence,
      status: computeAccessStatus(own) ?? 'none',
      plan: (best?.active && findPlanOfPurchase(best, catalogue)?.code) || null,
      store: best?.store ?? null,
      isActive: held[0]?.active ?? false,
      /** The ids of the entitlements that the user has now. */
      entitlements: activeEntitlementIds(held),
      willRenew: best?.willRenew ?? false,
      endsAt: isoTime(end),
      /** The latest event that could not be applied; null for none. */
      failedEvent: failure && { id: failure.eventId, text: describeFailure(failure.receivedAt) },
    }
  }

  async function read(userId: string, environment: Environment) {
    const { explanation, purchases, catalogue, ids, heldBy } = await assess(userId, environment)
    const shown = []
    for (const purchase of purchases.slice(0, MAX_PURCHASES_SHOWN)) {
      const plan = findPlanTitle(purchase, catalogue)
      shown.push({ ...(await toTimelineEntry(purchase, purchases, ids)), plan })
    }
    return {
      environment,
      sentence: explanation,
      ids,
      heldBy,
      lines: shown,
      hiddenLines: Math.max(0, purchases.length - MAX_PURCHASES_SHOWN),
      transfers: await listTransfers(ids),
    }
  }

  async function assess(userId: string, environment: Environment) {
    const catalogue = await listPlans([])
    const customer = await subscription.findCustomer(userId)
    const all = customer ? await listPurchases(customer.customerId) : []
    const environments = environmentsFor(userId, environment, accessSettings)
    const stored = all.filter((purchase) => environments.includes(purchase.environment))
    const purchases = assessWithPlans(stored, catalogue, now().getTime(), accessSettings)
    const { ids = [], heldBy = null } = customer ?? {}
    const failure = await latestFailure(ids.length === 0 ? [userId] : ids, environment)
    const sentence = explainAccess({
      environment,
      isUnknown: customer === null,
      heldBy,
      purchases,
      hasOtherPurchases: all.length > stored.length,
      findPlanOfPurchase: (purchase) => findPlanOfPurchase(purchase, catalogue) ?? null,
    })
    const explanation = failure ? `${sentence} ${describeFailure(failure.receivedAt)}` : sentence
    return { sentence, explanation, purchases, catalogue, ids, heldBy, failure }
  }

  async function latestFailure(ids: string[], environment: Environment) {
    const { id, eventId, appUserId, environment: stated, receivedAt } = billingEvents
    const [row] = await db.read
      .select({ eventId, receivedAt })
      .from(billingEvents)
      .where(
        and(
          INDEX_CONDITIONS.failed(billingEvents),
          inArray(appUserId, ids.slice(0, 500)),
          eq(stated, storedEnvironment(environment)),
        ),
      )
      .orderBy(desc(id))
      .limit(1)
    return row ?? null
  }

  async function listPurchases(customerId: string) {
    const read = (name: string) => projection.listPurchases(customerId, name)
    return [...(await read('PRODUCTION')), ...(await read('SANDBOX'))]
  }

  async function toTimelineEntry(purchase: KeyedPurchase, all: KeyedPurchase[], ids: string[]) {
    const { purchaseKey, productId, store, status, active, effectiveEnd, willRenew } = purchase
    const claimant = await findClaimant(purchaseKey)
    const mayBeReplaced = purchase.isTemporary || purchase.changedAt !== null
    const replacement = all.find(
      (other) => other !== purchase && other.startedAt === purchase.endedAt,
    )
    return {
      transactionId: parsePurchaseKey(purchaseKey).transactionId,
      productId,
      store,
      status,
      active,
      access: computeAccessStatus([purchase]),
      isOneTime: isOneTime(purchase),
      source: findSource(purchase),
      grant: purchase.grant,
      entitlementIds: purchase.entitlementIds,
      expiresAt: isoTime(purchase.expiresAt),
      isClaimed: claimant !== null && ids.includes(claimant),
      link: await findLink(purchaseKey),
      willRenew,
      startedAt: isoTime(purchase.startedAt),
      endsAt: isoTime(effectiveEnd),
      replacedBy: active || !mayBeReplaced ? null : (replacement?.productId ?? null),
      ...(await readHistory(purchaseKey)),
    }
  }

  async function listTransfers(ids: string[]) {
    if (ids.length === 0) return []
    const transfers = await db.read
      .selectDistinct({ eventRow: transferIds.eventRow })
      .from(transferIds)
      .where(inArray(transferIds.appUserId, ids.slice(0, 500)))
      .orderBy(desc(transferIds.eventRow))
      .limit(MAX_TRANSFERS_SHOWN)
    if (transfers.length === 0) return []
    const rows = await db.read
      .select()
      .from(billingEvents)
      .where(
        inArray(
          billingEvents.id,
          transfers.map(({ eventRow }) => eventRow),
        ),
      )
    return eventLog
      .readRows(rows)
      .map(({ id, orderedAt, transferredFrom, transferredTo }: OrderedEvent) => {
        const at = new Date(orderedAt).toISOString()
        return { eventId: id, at, from: transferredFrom, to: transferredTo }
      })
  }
}
