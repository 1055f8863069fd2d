import { DAY_MS, HOUR_MS } from '../../../lib/durations.ts'
import { compareEvents, type OrderedEvent } from './event-order.ts'
import { EMPTY_PURCHASE, type Purchase } from './purchase.ts'

const PERIOD_TOLERANCE_MS = HOUR_MS
const PERIODS_WITHOUT_RENEWAL = new Set(['PREPAID', 'PROMOTIONAL'])

/** These events start a period: they keep only the purchase's start and latest product change from before. */
const PERIOD_STARTS = new Set(['INITIAL_PURCHASE', 'RENEWAL', 'NON_RENEWING_PURCHASE'])

/** Folds all events of a purchase, in any order. Null without events. */
export function foldPurchase(events: OrderedEvent[]): Purchase | null {
  return events.toSorted(compareEvents).reduce<Purchase | null>(applyEvent, null)
}

/** Applies the event that follows those in `before`. */
export function applyEvent(before: Purchase | null, event: OrderedEvent): Purchase {
  const purchase = before ?? purchaseFromFirstEvent(event)
  const after = handlerFor(purchase, event)?.(purchase, event) ?? purchase
  return after.pendingProductId === after.productId ? { ...after, pendingProductId: null } : after
}

/** Whether `later` resets everything that `event` set. Not for a purchase's first event, which also sets the start. */
export function isOverriddenBy(event: { type: string }, later: { type: string }): boolean {
  return PERIOD_STARTS.has(later.type) && event.type !== 'PRODUCT_CHANGE'
}

function handlerFor(purchase: Purchase, event: OrderedEvent): EventHandler | undefined {
  if (event.stated !== null) return applyStatement
  if (purchase.stated !== null && !startsLaterPeriod(purchase, event)) return applyToStatedPeriod
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
    CANCELLATION: applyCancellation,
    REFUND: applyRefund,
    UNCANCELLATION: (purchase) => ({
      ...purchase,
      willRenew: true,
      cancelReason: null,
      unsubscribeDetectedAt: null,
    }),
    BILLING_ISSUE: (purchase, event) => ({
      ...purchase,
      billingIssueDetectedAt: event.orderedAt,
      expiresAt: laterEnd(purchase.expiresAt, event.expiresAt),
      graceExpiresAt: event.graceExpiresAt,
    }),
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
    HOMEPORT_RECONCILED: applyReconciliation,
    REFUND_REVERSED: (purchase, event) => ({
      ...purchase,
      refundedAt: null,
      endedAt: null,
      cancelReason: null,
      entitlementIds:
        event.entitlementIds.length > 0 ? event.entitlementIds : purchase.entitlementIds,
      expiresAt: event.expiresAt,
    }),
  }),
)

/** The purchase that an event's own fields describe. */
function purchaseFromFirstEvent(event: OrderedEvent): Purchase {
  const { environment, store, productId, priceId, entitlementIds, periodType, price } = event
  const { purchasedAt, expiresAt } = event
  return {
    ...EMPTY_PURCHASE,
    environment,
    store,
    productId,
    priceId,
    entitlementIds,
    periodType,
    price,
    startedAt: purchasedAt ?? event.orderedAt,
    purchasedAt,
    expiresAt,
    isTemporary: event.type === 'TEMPORARY_ENTITLEMENT_GRANT',
  }
}

/** A new period clears every problem of the last one. */
function startPeriod(purchase: Purchase, event: OrderedEvent): Purchase {
  return {
    ...purchaseFromFirstEvent(event),
    startedAt: purchase.startedAt,
    willRenew: !PERIODS_WITHOUT_RENEWAL.has(event.periodType ?? ''),
    changedAt: purchase.changedAt,
    changedTo: purchase.changedTo,
  }
}

/** The provider's reply describes the whole purchase, so it replaces what the events said. */
function applyReconciliation(purchase: Purchase, event: OrderedEvent): Purchase {
  const { unsubscribedAt, billingIssueAt, refundedAt } = event
  return {
    ...purchaseFromFirstEvent(event),
    price: purchase.price,
    priceId: purchase.priceId,
    startedAt: purchase.startedAt,
    graceExpiresAt: event.graceExpiresAt,
    willRenew: unsubscribedAt === null && billingIssueAt === null,
    unsubscribeDetectedAt: unsubscribedAt,
    billingIssueDetectedAt: billingIssueAt,
    refundedAt,
    endedAt: refundedAt,
    autoResumeAt: event.autoResumeAt,
    pausedAt: event.autoResumeAt === null ? null : event.orderedAt,
    changedAt: purchase.changedAt,
    changedTo: purchase.changedTo,
  }
}

/** A store's event describes the purchase or its period, so it replaces what other events said about that period. */
function applyStatement(purchase: Purchase, event: OrderedEvent): Purchase {
  const startedAt = Math.min(
    purchase.startedAt,
    event.startedAt ?? event.purchasedAt ?? event.orderedAt,
  )
  if (isDistinctEarlierPeriod(purchase, event)) return { ...purchase, startedAt }
  const { price, entitlementIds, billingIssueAt, unsubscribedAt } = event
  const isSamePeriod = isOfSamePeriod(purchase, event)
  // Within the same period, fields that a partial statement omits keep their values.
  const known = event.stated === 'partial' && isSamePeriod ? purchase : null
  const sameProduct = event.productId === purchase.productId ? purchase : null
  return {
    ...purchaseFromFirstEvent(event),
    price: price ?? sameProduct?.price ?? null,
    priceId: sameProduct?.priceId ?? null,
    entitlementIds:
      entitlementIds.length > 0 ? entitlementIds : (sameProduct?.entitlementIds ?? []),
    startedAt,
    graceExpiresAt: event.graceExpiresAt ?? known?.graceExpiresAt ?? null,
    willRenew: event.willRenew ?? known?.willRenew ?? true,
    cancelReason: event.cancelReason ?? known?.cancelReason ?? null,
    unsubscribeDetectedAt:
      unsubscribedAt === null
        ? (known?.unsubscribeDetectedAt ?? null)
        : (purchase.unsubscribeDetectedAt ?? unsubscribedAt),
    billingIssueDetectedAt:
      billingIssueAt === null
        ? (known?.billingIssueDetectedAt ?? null)
        : (purchase.billingIssueDetectedAt ?? billingIssueAt),
    refundedAt: event.refundedAt ?? known?.refundedAt ?? null,
    endedAt: event.endedAt ?? known?.endedAt ?? null,
    pendingProductId: event.newProductId ?? known?.pendingProductId ?? null,
    stated: { transactionId: event.transactionId },
  }
}

/** Fills in what only the billing provider sends, in a period that the store has described. */
function applyToStatedPeriod(purchase: Purchase, event: OrderedEvent): Purchase {
  const { type } = event
  const filled = event.productId === purchase.productId ? fillIn(purchase, event) : purchase
  if (isRefund(event)) return applyRefund(filled, event)
  const isReversed = type === 'REFUND_REVERSED' && purchase.refundedAt !== null
  return isReversed ? { ...filled, refundedAt: null, endedAt: null, cancelReason: null } : filled
}

function fillIn(purchase: Purchase, { entitlementIds, priceId, price }: OrderedEvent): Purchase {
  return {
    ...purchase,
    entitlementIds: purchase.entitlementIds.length > 0 ? purchase.entitlementIds : entitlementIds,
    priceId: purchase.priceId ?? priceId,
    price: purchase.price ?? price,
  }
}

/** Whether the billing provider knows of a later period than the store does: the store's event may be missing. */
function startsLaterPeriod(purchase: Purchase, event: OrderedEvent): boolean {
  const isStart = PERIOD_STARTS.has(event.type) || event.type === 'HOMEPORT_RECONCILED'
  return isStart && !isOfSamePeriod(purchase, event) && !isForEarlierPeriod(purchase, event)
}

/** Periods are compared by transaction, else by start, which may differ a little between the store and the provider. */
function isOfSamePeriod({ stated, purchasedAt }: Purchase, event: OrderedEvent): boolean {
  const known = stated?.transactionId
  if (known && known === event.transactionId) return true
  // A store's ids are certain: an upgrade or a sandbox renewal may start within the tolerance.
  if (known && event.transactionId !== null && event.stated !== null) return false
  if (purchasedAt === null || event.purchasedAt === null) return true
  return Math.abs(event.purchasedAt - purchasedAt) <= PERIOD_TOLERANCE_MS
}

function isDistinctEarlierPeriod(purchase: Purchase, event: OrderedEvent): boolean {
  return isForEarlierPeriod(purchase, event) && !isOfSamePeriod(purchase, event)
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

/** Providers report most refunds as cancellations. */
function isRefund({ type, cancelReason, price }: OrderedEvent): boolean {
  if (type !== 'CANCELLATION') return type === 'REFUND'
  return (
    cancelReason === 'CUSTOMER_SUPPORT' ||
    (cancelReason === 'DEVELOPER_INITIATED' && price !== null && price < 0)
  )
}

function applyCancellation(purchase: Purchase, event: OrderedEvent): Purchase {
  const { cancelReason, orderedAt } = event
  if (isRefund(event)) return applyRefund(purchase, event)
  const cancelled = { ...purchase, willRenew: false, cancelReason }
  if (cancelReason === 'BILLING_ERROR') {
    return { ...cancelled, billingIssueDetectedAt: purchase.billingIssueDetectedAt ?? orderedAt }
  }
  // Revoking a promotional grant moves the end of its period to now.
  const expiresAt = isForEarlierPeriod(purchase, event)
    ? purchase.expiresAt
    : (event.expiresAt ?? purchase.expiresAt)
  const unsubscribeDetectedAt =
    cancelReason === 'UNSUBSCRIBE' ? orderedAt : purchase.unsubscribeDetectedAt
  return { ...cancelled, expiresAt, unsubscribeDetectedAt }
}

function applyRefund(purchase: Purchase, event: OrderedEvent): Purchase {
  if (isForEarlierPeriod(purchase, event)) return purchase
  return {
    ...purchase,
    cancelReason: event.cancelReason ?? 'CUSTOMER_SUPPORT',
    refundedAt: event.orderedAt,
    endedAt: Math.min(event.expiresAt ?? event.orderedAt, event.orderedAt),
  }
}

/** Ends access even before the stated date, but only for the period that the event is about. */
function applyExpiration(purchase: Purchase, event: OrderedEvent): Purchase {
  if (isForEarlierPeriod(purchase, event)) return purchase
  const isPause = event.expirationReason === 'SUBSCRIPTION_PAUSED'
  return {
    ...purchase,
    willRenew: false,
    endedAt: Math.min(purchase.endedAt ?? event.orderedAt, event.orderedAt),
    pausedAt: isPause ? event.orderedAt : purchase.pausedAt,
  }
}

/** Whether an event is about an earlier period. Such an event ends nothing. */
function isForEarlierPeriod({ purchasedAt }: Purchase, event: OrderedEvent): boolean {
  return purchasedAt !== null && event.purchasedAt !== null && event.purchasedAt < purchasedAt
}

/** The later end. A null `a` means the purchase never ends; a null `b` means the event states no end. */
function laterEnd(a: number | null, b: number | null): number | null {
  if (a === null) return a
  return b === null ? a : Math.max(a, b)
}
