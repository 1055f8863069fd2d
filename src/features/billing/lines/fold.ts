import { DAY_MS } from '../../../lib/durations.ts'
import { compareEvents, type OrderedEvent } from './event-order.ts'
import { EMPTY_LINE, type Line } from './line.ts'

/** Periods that end by themselves. */
const WITHOUT_RENEWAL = new Set(['PREPAID', 'PROMOTIONAL'])

/** Types that begin a period anew. Of what came before, only its start and the latest change of product stay. */
const PURCHASES = new Set(['INITIAL_PURCHASE', 'RENEWAL', 'NON_RENEWING_PURCHASE'])

/** Folds all events of a line, in whatever order they are given. Null for none. */
export function foldLine(events: OrderedEvent[]): Line | null {
  return events.toSorted(compareEvents).reduce<Line | null>(step, null)
}

/** One event more, which comes after all that `before` knows. */
export function step(before: Line | null, event: OrderedEvent): Line {
  const line = before ?? opened(event)
  const after = STEPS.get(event.type)?.(line, event) ?? line
  return after.pendingProductId === after.productId ? { ...after, pendingProductId: null } : after
}

/** Whether a purchase makes an event before it as if it had not been, unless that is the first of its line. */
export function overrides(purchase: { type: string }, earlier: { type: string }): boolean {
  return PURCHASES.has(purchase.type) && earlier.type !== 'PRODUCT_CHANGE'
}

type Step = (line: Line, event: OrderedEvent) => Line

const STEPS = new Map<string, Step>(
  Object.entries<Step>({
    INITIAL_PURCHASE: purchase,
    RENEWAL: purchase,
    NON_RENEWING_PURCHASE: (line, event) => ({ ...purchase(line, event), willRenew: false }),
    TEMPORARY_ENTITLEMENT_GRANT: temporary,
    CANCELLATION: cancel,
    REFUND: refund,
    UNCANCELLATION: (line) => ({
      ...line,
      willRenew: true,
      cancelReason: null,
      unsubscribeDetectedAt: null,
    }),
    BILLING_ISSUE: (line, event) => ({
      ...line,
      billingIssueDetectedAt: event.orderedAt,
      expiresAt: later(line.expiresAt, event.expiresAt),
      graceExpiresAt: event.graceExpiresAt,
    }),
    SUBSCRIPTION_PAUSED: (line, event) => ({ ...line, autoResumeAt: event.autoResumeAt }),
    EXPIRATION: expire,
    PRODUCT_CHANGE: (line, event) => ({
      ...line,
      pendingProductId: event.newProductId,
      changedAt: event.orderedAt,
      changedTo: event.newProductId,
    }),
    SUBSCRIPTION_EXTENDED: (line, event) => ({
      ...line,
      expiresAt: later(line.expiresAt, event.expiresAt),
    }),
    HOMEPORT_RECONCILED: reconciled,
    REFUND_REVERSED: (line, event) => ({
      ...line,
      refundedAt: null,
      endedAt: null,
      cancelReason: null,
      entitlementIds: event.entitlementIds.length > 0 ? event.entitlementIds : line.entitlementIds,
      expiresAt: event.expiresAt,
    }),
  }),
)

/** What an event's own fields say, for a line of which it is the first that we know. */
function opened(event: OrderedEvent): Line {
  const { environment, store, productId, priceId, entitlementIds, periodType, price } = event
  const { purchasedAt, expiresAt } = event
  return {
    ...EMPTY_LINE,
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

/** A new period: what was wrong with the one before is over. */
function purchase(line: Line, event: OrderedEvent): Line {
  return {
    ...opened(event),
    startedAt: line.startedAt,
    willRenew: !WITHOUT_RENEWAL.has(event.periodType ?? ''),
    changedAt: line.changedAt,
    changedTo: line.changedTo,
  }
}

/** What the provider says of the line when it is asked: everything as it stands then. */
function reconciled(line: Line, event: OrderedEvent): Line {
  const { unsubscribedAt, billingIssueAt, refundedAt } = event
  return {
    ...opened(event),
    price: line.price,
    priceId: line.priceId,
    startedAt: line.startedAt,
    graceExpiresAt: event.graceExpiresAt,
    willRenew: unsubscribedAt === null && billingIssueAt === null,
    unsubscribeDetectedAt: unsubscribedAt,
    billingIssueDetectedAt: billingIssueAt,
    refundedAt,
    endedAt: refundedAt,
    autoResumeAt: event.autoResumeAt,
    pausedAt: event.autoResumeAt === null ? null : event.orderedAt,
    changedAt: line.changedAt,
    changedTo: line.changedTo,
  }
}

/** At most a day, and nothing where no entitlement is named. It never shortens a purchase. */
function temporary(line: Line, event: OrderedEvent): Line {
  if (!line.isTemporary) return line
  const limit = event.orderedAt + DAY_MS
  return {
    ...line,
    willRenew: false,
    expiresAt: Math.min(event.expiresAt ?? limit, limit),
  }
}

function cancel(line: Line, event: OrderedEvent): Line {
  const { cancelReason, price, orderedAt } = event
  const isRefund =
    cancelReason === 'CUSTOMER_SUPPORT' ||
    (cancelReason === 'DEVELOPER_INITIATED' && price !== null && price < 0)
  if (isRefund) return refund(line, event)
  const cancelled = { ...line, willRenew: false, cancelReason }
  if (cancelReason === 'BILLING_ERROR') {
    return { ...cancelled, billingIssueDetectedAt: line.billingIssueDetectedAt ?? orderedAt }
  }
  // The end of the period may have been moved, to now where a promotion is taken back.
  const expiresAt = isOlder(line, event) ? line.expiresAt : (event.expiresAt ?? line.expiresAt)
  const unsubscribeDetectedAt =
    cancelReason === 'UNSUBSCRIBE' ? orderedAt : line.unsubscribeDetectedAt
  return { ...cancelled, expiresAt, unsubscribeDetectedAt }
}

function refund(line: Line, event: OrderedEvent): Line {
  if (isOlder(line, event)) return line
  return {
    ...line,
    cancelReason: event.cancelReason ?? 'CUSTOMER_SUPPORT',
    refundedAt: event.orderedAt,
    endedAt: Math.min(event.expiresAt ?? event.orderedAt, event.orderedAt),
  }
}

/** The end, also where the date said another: but only of the period that it speaks of. */
function expire(line: Line, event: OrderedEvent): Line {
  if (isOlder(line, event)) return line
  const isPause = event.expirationReason === 'SUBSCRIPTION_PAUSED'
  return {
    ...line,
    willRenew: false,
    endedAt: Math.min(line.endedAt ?? event.orderedAt, event.orderedAt),
    pausedAt: isPause ? event.orderedAt : line.pausedAt,
  }
}

/** Whether an event speaks of a period before the current one: then it ends nothing. */
function isOlder({ purchasedAt }: Line, event: OrderedEvent): boolean {
  return purchasedAt !== null && event.purchasedAt !== null && event.purchasedAt < purchasedAt
}

function later(a: number | null, b: number | null): number | null {
  if (a === null) return a
  return b === null ? a : Math.max(a, b)
}
