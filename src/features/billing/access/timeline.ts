import { and, asc, desc, eq, inArray } from 'drizzle-orm'
import { type Difference, differencesBetween } from '../../../lib/text/differences.ts'
import {
  type Environment,
  type StoredEnvironment,
  storedEnvironment,
  toEnvironment,
} from '../environment.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { Support } from '../inbox/support.ts'
import { readPurchase } from '../projection/fold-state.ts'
import { activeEntitlementIds, isOneTime, type PurchaseAccess } from '../purchases/access.ts'
import type { OrderedEvent } from '../purchases/event-order.ts'
import { PURCHASE_CLAIMED } from '../purchases/event-types.ts'
import { applyEvent, foldPurchase } from '../purchases/fold.ts'
import { findSource, type Purchase } from '../purchases/purchase.ts'
import { parsePurchaseKey } from '../purchases/purchase-key.ts'
import { isRefund } from '../purchases/refunds.ts'
import { type BillingDb, INDEXED_MARKS } from '../schema.ts'
import { describeFailure, explainAccess, findPlanTitle, isoTime } from './access-explanation.ts'
import { computeAccessStatus } from './access-search.ts'
import { type AccessSettings, assessWithPlans, environmentsFor } from './assessment.ts'
import { type Catalogue, findPlanOfPurchase, listUnlocking } from './plan-matching.ts'
import type { PlanLike, Subscription } from './subscription.ts'

type TimelineDeps<Plan extends PlanLike> = {
  db: BillingDb
  subscription: Pick<Subscription<Plan>, 'findCustomer'>
  eventLog: Pick<EventLog, 'readRows'>
  listPlans: (wanted: string[]) => Promise<Catalogue<Plan>>
  accessSettings: AccessSettings
  /** The app user id that the purchase's latest claim names; null for none. */
  findClaimant: (purchaseKey: string) => Promise<string | null>
  /** Who linked the purchase to its user; null if support did not, or the user has submitted it since. */
  findLink: (purchaseKey: string) => Promise<(Support & { id: string; at: string }) | null>
  now: () => Date
}

export type Timeline = ReturnType<typeof createTimeline>

type KeyedPurchase = PurchaseAccess<Purchase & { purchaseKey: string }>

type Entry = {
  eventId: string
  type: string
  isRefund: boolean
  at: string
  receivedAt: string
  outcome: string
  error: string | null
  changes: Difference[]
  /** Null unless the event links the purchase to a user. */
  linkedTo: string | null
  /** Who has linked the purchase or granted access, and why. */
  support: Support | null
}

const MAX_PURCHASES_SHOWN = 50
/** The newest events of each purchase. */
const MAX_EVENTS_SHOWN = 200
const MAX_TRANSFERS_SHOWN = 50
/** Fields whose changes are not shown, because they explain nothing. */
const HIDDEN_FIELDS = /^(priceId|isTemporary|grant)(\.|$)/
const TIME_FIELDS = /At$/

/** Applies events as the projection does. */
export function createTimeline<Plan extends PlanLike>(deps: TimelineDeps<Plan>) {
  const { db, eventLog, subscription, listPlans, accessSettings, findClaimant, findLink, now } =
    deps
  const { billingEvents, subscriptions, transferIds } = db.tables
  return { read, explain, explainForEvent, summarize }

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
    const held = heldBy === null ? listUnlocking(purchases, catalogue) : []
    const [best] = held
    const end = best?.effectiveEnd ?? null
    return {
      sentence,
      status: computeAccessStatus(held) ?? 'none',
      plan: (best?.active && findPlanOfPurchase(best, catalogue)?.code) || null,
      store: best?.store ?? null,
      isActive: best?.active ?? false,
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
          INDEXED_MARKS.failed(billingEvents),
          inArray(appUserId, ids.slice(0, 500)),
          eq(stated, storedEnvironment(environment)),
        ),
      )
      .orderBy(desc(id))
      .limit(1)
    return row ?? null
  }

  async function listPurchases(customerId: string) {
    const rows = await db.read
      .select({ purchaseKey: subscriptions.purchaseKey, state: subscriptions.state })
      .from(subscriptions)
      .where(eq(subscriptions.customerId, customerId))
      .orderBy(asc(subscriptions.purchaseKey))
      .limit(MAX_PURCHASES_SHOWN * 10)
    return rows.map(({ purchaseKey, state }) => ({
      ...readPurchase(state),
      purchaseKey,
    }))
  }

  async function toTimelineEntry(purchase: KeyedPurchase, all: KeyedPurchase[], ids: string[]) {
    const { purchaseKey, productId, store, status, active, effectiveEnd, willRenew } = purchase
    const { entries, isCut } = await listEntries(purchaseKey)
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
      events: entries,
      isCut,
    }
  }

  /** Earlier events are folded but not shown. */
  async function listEntries(purchaseKey: string): Promise<{ entries: Entry[]; isCut: boolean }> {
    const rows = await db.read
      .select()
      .from(billingEvents)
      .where(eq(billingEvents.purchaseKey, purchaseKey))
      .orderBy(desc(billingEvents.orderedAt))
      .limit(MAX_EVENTS_SHOWN * 5)
    const byEvent = new Map(rows.map((row) => [row.eventId, row]))
    const events = eventLog.readRows(rows)
    const earlier = events.slice(0, -MAX_EVENTS_SHOWN)
    let before = foldPurchase(earlier)
    const entries = events.slice(earlier.length).map((event) => {
      const after = applyEvent(before, event)
      const row = byEvent.get(event.id)
      const entry = {
        eventId: event.id,
        type: event.type,
        isRefund: isRefund(event),
        at: new Date(event.orderedAt).toISOString(),
        receivedAt: row?.receivedAt.toISOString() ?? '',
        outcome: row?.outcome ?? '',
        error: row?.error ?? null,
        changes: listChanges(before, after),
        linkedTo: event.type === PURCHASE_CLAIMED ? event.appUserId : null,
        support: event.support,
      }
      before = after
      return entry
    })
    return { entries: entries.toReversed(), isCut: earlier.length > 0 }
  }

  async function listTransfers(ids: string[]) {
    if (ids.length === 0) return []
    const named = await db.read
      .selectDistinct({ eventRow: transferIds.eventRow })
      .from(transferIds)
      .where(inArray(transferIds.appUserId, ids.slice(0, 500)))
      .orderBy(desc(transferIds.eventRow))
      .limit(MAX_TRANSFERS_SHOWN)
    if (named.length === 0) return []
    const rows = await db.read
      .select()
      .from(billingEvents)
      .where(
        inArray(
          billingEvents.id,
          named.map(({ eventRow }) => eventRow),
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

/** Times as ISO 8601. */
function listChanges(before: Purchase | null, after: Purchase): Difference[] {
  return differencesBetween(before ?? {}, after)
    .filter(
      ({ path, after: value }) =>
        !HIDDEN_FIELDS.test(path) && !(before === null && isEmptyValue(value)),
    )
    .map(({ path, before: old, after: value }) => {
      const format = TIME_FIELDS.test(path)
        ? (time: unknown) => isoTime(time as number | null)
        : asIs
      return { path, before: format(old), after: format(value) }
    })
}

function isEmptyValue(value: unknown): boolean {
  return value === null || value === false || (Array.isArray(value) && value.length === 0)
}

function asIs(value: unknown): unknown {
  return value
}
