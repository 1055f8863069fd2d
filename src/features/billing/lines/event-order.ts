import { DAY_MS } from '../../../lib/durations.ts'
import type { BillingEvent } from '../inbox/event.ts'

/** An event with its place in time: the provider's, or that of its receipt where the provider's is no good. */
export type OrderedEvent = BillingEvent & { orderedAt: number }

/** What the order of events is made of. */
export type EventOrder = Pick<OrderedEvent, 'orderedAt' | 'purchasedAt' | 'type' | 'id'>

const EARLIEST = Date.UTC(2000, 0)
const LATEST = Date.UTC(2100, 0)

/** Types that speak of a line, and their order where the provider gave them one and the same instant. */
const RANK = new Map(
  Object.entries({
    INITIAL_PURCHASE: 0,
    RENEWAL: 0,
    NON_RENEWING_PURCHASE: 0,
    TEMPORARY_ENTITLEMENT_GRANT: 0,
    SUBSCRIPTION_EXTENDED: 1,
    REFUND_REVERSED: 1,
    UNCANCELLATION: 1,
    PRODUCT_CHANGE: 2,
    BILLING_ISSUE: 3,
    SUBSCRIPTION_PAUSED: 4,
    CANCELLATION: 5,
    REFUND: 5,
    EXPIRATION: 6,
    HOMEPORT_RECONCILED: 7,
  }),
)
const TRANSFER_RANK = 8
const IDENTITY_EVENT_TYPES = new Set(['TRANSFER', 'SUBSCRIBER_ALIAS', 'PURCHASE_REDEEMED'])

/** The line that an event speaks of, or null when it speaks of none. */
export function lineKeyOf(event: BillingEvent): string | null {
  if (!RANK.has(event.type)) return null
  const { environment, originalTransactionId, transactionId, store, productId } = event
  const transactionKey = originalTransactionId ?? transactionId
  if (transactionKey !== null) return `${environment}|${transactionKey}`
  if (store === null && productId === null) return null
  return `${environment}|${store ?? ''}|${productId ?? ''}|${event.appUserId ?? ''}`
}

/** Whether an event's type can touch access. Tests, telemetry and unknown types cannot. */
export function hasEffect({ type }: BillingEvent): boolean {
  return RANK.has(type) || IDENTITY_EVENT_TYPES.has(type)
}

/** Types that say nothing but who is who. */
export function mergesIdentities({ type, redemptionOutcome }: BillingEvent): boolean {
  return (
    type === 'SUBSCRIBER_ALIAS' || (type === 'PURCHASE_REDEEMED' && redemptionOutcome === 'alias')
  )
}

/**
 * Where an event stands in time: at its receipt when its own time is missing, outside of 2000 to 2100 or
 * over a day ahead. `isOff`: some time in it is so, and somebody's clock is wrong.
 */
export function orderedTime(event: BillingEvent, receivedAt: number) {
  const { at, purchasedAt, expiresAt, graceExpiresAt, autoResumeAt } = event
  const others = [purchasedAt, expiresAt, graceExpiresAt, autoResumeAt]
  const isUsable = at !== null && isPlausible(at) && at <= receivedAt + DAY_MS
  const isOff = !isUsable || others.some((time) => time !== null && !isPlausible(time))
  return { orderedAt: isUsable ? at : receivedAt, isOff }
}

function isPlausible(ms: number): boolean {
  return ms >= EARLIEST && ms < LATEST
}

/** The one order in which events are folded, however they arrived. */
export function compareEvents(a: EventOrder, b: EventOrder): number {
  return (
    a.orderedAt - b.orderedAt ||
    (a.purchasedAt ?? 0) - (b.purchasedAt ?? 0) ||
    rankOf(a) - rankOf(b) ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  )
}

function rankOf({ type }: EventOrder): number {
  return RANK.get(type) ?? TRANSFER_RANK
}
