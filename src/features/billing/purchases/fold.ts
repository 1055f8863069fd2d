import { DAY_MS } from '../../../lib/time/durations.ts'
import { compareEvents, type OrderedEvent } from './event-order.ts'
import { ACCESS_GRANTED, ACCESS_REVOKED } from './event-types.ts'
import {
  canRenew,
  isDistinctEarlierPeriod,
  isForEarlierPeriod,
  isForEndedPeriod,
  PERIOD_STARTS,
  startsLaterPeriod,
} from './periods.ts'
import { type Purchase, purchaseFromFirstEvent } from './purchase.ts'
import { applyRefund, forgetRefund, isRefund, isRefundByOrder, withoutRefund } from './refunds.ts'
import { applySnapshot, applyToSnapshotPeriod } from './snapshot.ts'

/** Replaces the attribution of a deleted user. */
const UNKNOWN_ATTRIBUTION = { by: '', reason: '' }

/** The events may be in any order. Null if there are none. */
export function foldPurchase(events: OrderedEvent[]): Purchase | null {
  return events.toSorted(compareEvents).reduce<Purchase | null>(applyEvent, null)
}

export function applyEvent(before: Purchase | null, event: OrderedEvent): Purchase {
  const purchase = before ?? purchaseFromFirstEvent(event)
  const after = handlerFor(purchase, event)?.(purchase, event) ?? purchase
  return after.pendingProductId === after.productId ? { ...after, pendingProductId: null } : after
}

/** Whether `later` resets everything that `event` set. Not for a purchase's first event, which also sets the start. */
export function isOverriddenBy(event: OrderedEvent, later: { type: string }): boolean {
  const isKept = event.type === 'PRODUCT_CHANGE' || isRefundByOrder(event)
  return PERIOD_STARTS.has(later.type) && !isKept
}

function handlerFor(purchase: Purchase, event: OrderedEvent): EventHandler | undefined {
  if (event.problem !== null) return undefined
  if (event.stated !== null) return applySnapshot
  if (purchase.stated !== null && !startsLaterPeriod(purchase, event)) return applyToSnapshotPeriod
  if (isForEndedPeriod(purchase, event) && !isRefund(event)) return undefined
  return HANDLERS.get(event.type)
}

type EventHandler = (purchase: Purchase, event: OrderedEvent) => Purchase

const HANDLERS = new Map<string, EventHandler>(
  Object.entries<EventHandler>({
    INITIAL_PURCHASE: startPeriod,
    RENEWAL: startPeriod,
    NON_RENEWING_PURCHASE: (purchase, event) => ({
      ...startPeriod(purchase, event),
      willRenew: false,
    }),
    TEMPORARY_ENTITLEMENT_GRANT: grantTemporarily,
    [ACCESS_GRANTED]: (purchase, event) => ({
      ...startPeriod(purchase, event),
      willRenew: false,
      grant: event.support ?? UNKNOWN_ATTRIBUTION,
    }),
    [ACCESS_REVOKED]: (purchase, event) => ({
      ...purchase,
      endedAt: event.orderedAt,
      grant: { ...(purchase.grant ?? UNKNOWN_ATTRIBUTION), revokedBy: event.support?.by ?? '' },
    }),
    CANCELLATION: applyCancellation,
    REFUND: applyRefund,
    UNCANCELLATION: (purchase) => ({
      ...purchase,
      willRenew: true,
      cancelReason: null,
      unsubscribeDetectedAt: null,
    }),
    BILLING_ISSUE: unlessEarlier((purchase, event) => ({
      ...purchase,
      billingIssueDetectedAt: event.orderedAt,
      expiresAt: laterEnd(purchase.expiresAt, event.expiresAt),
      graceExpiresAt: event.graceExpiresAt,
    })),
    SUBSCRIPTION_PAUSED: (purchase, event) => ({ ...purchase, autoResumeAt: event.autoResumeAt }),
    EXPIRATION: applyExpiration,
    PRODUCT_CHANGE: (purchase, event) => ({
      ...purchase,
      pendingProductId: event.newProductId,
      changedAt: event.orderedAt,
      changedTo: event.newProductId,
    }),
    SUBSCRIPTION_EXTENDED: (purchase, event) => ({
      ...purchase,
      expiresAt: laterEnd(purchase.expiresAt, event.expiresAt),
    }),
    HOMEPORT_RECONCILED: unlessEarlier(applyReconciliation),
    REFUND_REVERSED: unlessEarlier((purchase, event) => ({
      ...withoutRefund(forgetRefund(purchase, event)),
      entitlementIds:
        event.entitlementIds.length > 0 ? event.entitlementIds : purchase.entitlementIds,
      expiresAt: event.expiresAt ?? purchase.expiresAt,
    })),
  }),
)

/** Ignores events about an earlier period than the current one. */
function unlessEarlier(handle: EventHandler): EventHandler {
  return (purchase, event) =>
    isDistinctEarlierPeriod(purchase, event) ? purchase : handle(purchase, event)
}

/** A new period clears every problem of the last one. */
function startPeriod(purchase: Purchase, event: OrderedEvent): Purchase {
  if (isUnpaidAtStripe(purchase, event)) return purchase
  return {
    ...purchaseFromFirstEvent(event),
    startedAt: purchase.startedAt,
    willRenew: canRenew(event),
    changedAt: purchase.changedAt,
    changedTo: purchase.changedTo,
    refundedOrders: purchase.refundedOrders,
  }
}

/** The provider keeps reporting renewals without a price after Stripe could not collect an invoice. */
function isUnpaidAtStripe({ endedAt, billingIssueDetectedAt }: Purchase, event: OrderedEvent) {
  const isFree = event.store === 'STRIPE' && event.type === 'RENEWAL' && event.price === 0
  return isFree && endedAt !== null && billingIssueDetectedAt !== null
}

/**
 * Replaces what earlier events reported, but keeps the entitlements if the report has none: the provider names one
 * product per entitlement, which may belong to another purchase.
 */
function applyReconciliation(purchase: Purchase, event: OrderedEvent): Purchase {
  const { unsubscribedAt, billingIssueAt, refundedAt, entitlementIds, productId } = event
  const areUnknown = entitlementIds.length === 0 && productId === purchase.productId
  return {
    ...purchaseFromFirstEvent(event),
    entitlementIds: areUnknown ? purchase.entitlementIds : entitlementIds,
    price: purchase.price,
    priceId: purchase.priceId,
    startedAt: purchase.startedAt,
    graceExpiresAt: event.graceExpiresAt,
    willRenew: canRenew(event) && unsubscribedAt === null && billingIssueAt === null,
    unsubscribeDetectedAt: unsubscribedAt,
    billingIssueDetectedAt: billingIssueAt,
    refundedAt,
    endedAt: refundedAt,
    autoResumeAt: event.autoResumeAt,
    pausedAt: event.autoResumeAt === null ? null : event.orderedAt,
    changedAt: purchase.changedAt,
    changedTo: purchase.changedTo,
    refundedOrders: purchase.refundedOrders,
  }
}

/** Grants access for at most a day, and never shortens a paid purchase. */
function grantTemporarily(purchase: Purchase, event: OrderedEvent): Purchase {
  if (!purchase.isTemporary) return purchase
  const limit = event.orderedAt + DAY_MS
  return {
    ...purchase,
    willRenew: false,
    expiresAt: Math.min(event.expiresAt ?? limit, limit),
  }
}

function applyCancellation(purchase: Purchase, event: OrderedEvent): Purchase {
  const { cancelReason, orderedAt } = event
  if (isRefund(event)) return applyRefund(purchase, event)
  const cancelled = { ...purchase, willRenew: false, cancelReason }
  if (cancelReason === 'BILLING_ERROR') {
    if (isDistinctEarlierPeriod(purchase, event)) return purchase
    const billingIssueDetectedAt = purchase.billingIssueDetectedAt ?? orderedAt
    // Stripe has no grace period: an end that has passed means that Stripe has cancelled the subscription.
    const isEnded = event.store === 'STRIPE' && (event.expiresAt ?? orderedAt) < orderedAt
    return {
      ...cancelled,
      billingIssueDetectedAt,
      ...(isEnded ? { expiresAt: event.expiresAt } : {}),
    }
  }
  // Revoking a promotional grant moves the end of its period to now.
  const expiresAt = isForEarlierPeriod(purchase, event)
    ? purchase.expiresAt
    : (event.expiresAt ?? purchase.expiresAt)
  const unsubscribeDetectedAt =
    cancelReason === 'UNSUBSCRIBE' ? orderedAt : purchase.unsubscribeDetectedAt
  return { ...cancelled, expiresAt, unsubscribeDetectedAt }
}

/** Ends access even before the stated date, but only for the period that the event is about. */
function applyExpiration(purchase: Purchase, event: OrderedEvent): Purchase {
  if (isForEarlierPeriod(purchase, event)) return purchase
  const isPause = event.expirationReason === 'SUBSCRIPTION_PAUSED'
  const isUnpaid = event.expirationReason === 'BILLING_ERROR'
  return {
    ...purchase,
    willRenew: false,
    billingIssueDetectedAt: purchase.billingIssueDetectedAt ?? (isUnpaid ? event.orderedAt : null),
    endedAt: Math.min(purchase.endedAt ?? event.orderedAt, event.orderedAt),
    pausedAt: isPause ? event.orderedAt : purchase.pausedAt,
  }
}

/** The later end. A null `a` means the purchase never ends; a null `b` means the event states no end. */
function laterEnd(a: number | null, b: number | null): number | null {
  if (a === null) return a
  return b === null ? a : Math.max(a, b)
}
