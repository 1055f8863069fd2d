import { DAY_MS } from '../../../lib/time/durations.ts'
import { type BillingEvent, isRealId } from '../inbox/event.ts'
import { ACCESS_GRANTED, isAboutAccess, RANK } from './event-types.ts'

/** `orderedAt`: the provider's time of the event in ms; if implausible, the time of receipt. */
export type OrderedEvent = BillingEvent & { orderedAt: number }

export type EventOrder = Pick<OrderedEvent, 'orderedAt' | 'purchasedAt' | 'type' | 'id'>

const MIN_PLAUSIBLE_MS = Date.UTC(2000, 0)
const MAX_PLAUSIBLE_MS = Date.UTC(2100, 0)
/** The billing provider grants lifetime access for 200 years. */
const MAX_PLAUSIBLE_END_MS = Date.UTC(2300, 0)

const TRANSFER_RANK = 9

/** Null if the event is about no purchase. */
export function findPurchaseKey(event: BillingEvent): string | null {
  if (!RANK.has(event.type) || event.problem !== null) return null
  const { environment, originalTransactionId, transactionId, store, productId } = event
  const transactionKey = originalTransactionId ?? transactionId
  if (transactionKey !== null) return `${environment}|${transactionKey}`
  if (store === null && productId === null) return null
  return `${environment}|${store ?? ''}|${productId ?? ''}|${event.appUserId ?? ''}`
}

/** False for tests, telemetry, unknown types, and events that lack a required field. */
export function canAffectAccess({ type, problem }: BillingEvent): boolean {
  return problem === null && isAboutAccess(type)
}

/** Whether a purchase lasts forever if the event states no end. */
export function canBeLifetime({ type, stated }: BillingEvent): boolean {
  return stated !== null || type === 'NON_RENEWING_PURCHASE' || type === ACCESS_GRANTED
}

/** Whether an event only joins app user ids. */
function mergesIdentities({ type, redemptionOutcome }: BillingEvent): boolean {
  return (
    type === 'SUBSCRIBER_ALIAS' || (type === 'PURCHASE_REDEEMED' && redemptionOutcome === 'alias')
  )
}

/**
 * `orderedAt`: the time of receipt if the event's own time is missing, outside 2000 to 2100, or over a day ahead.
 * `clockIsOff`: a time in the event is missing or implausible.
 */
export function computeOrderingTime(event: BillingEvent, receivedAt: number) {
  const { at, purchasedAt, expiresAt, graceExpiresAt, autoResumeAt } = event
  const ends = [expiresAt, graceExpiresAt, autoResumeAt]
  const isUsable = at !== null && isPlausible(at) && at <= receivedAt + DAY_MS
  const areOthersPlausible =
    isPlausible(purchasedAt ?? receivedAt) &&
    ends.every((time) => isPlausible(time ?? receivedAt, MAX_PLAUSIBLE_END_MS))
  return { orderedAt: isUsable ? at : receivedAt, clockIsOff: !isUsable || !areOthersPlausible }
}

function isPlausible(ms: number, max = MAX_PLAUSIBLE_MS): boolean {
  return ms >= MIN_PLAUSIBLE_MS && ms < max
}

/** The order does not depend on the time of arrival. */
export function compareEvents(a: EventOrder, b: EventOrder): number {
  return (
    a.orderedAt - b.orderedAt ||
    (a.purchasedAt ?? 0) - (b.purchasedAt ?? 0) ||
    computeRank(a) - computeRank(b) ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  )
}

function computeRank({ type }: EventOrder): number {
  return RANK.get(type) ?? TRANSFER_RANK
}

/** The ids that an event joins into one customer. Transfers move purchases between customers but join none. */
export function linkedIds(event: BillingEvent): string[] {
  const { type, appUserId, originalAppUserId, aliases, redeemedFrom, redeemedBy } = event
  if (type === 'PURCHASE_REDEEMED') {
    return mergesIdentities(event) ? uniqueRealIds([...redeemedFrom, ...redeemedBy]) : []
  }
  if (findPurchaseKey(event) === null && !mergesIdentities(event)) return []
  return uniqueRealIds([appUserId, originalAppUserId, ...aliases])
}

function uniqueRealIds(ids: (string | null)[]): string[] {
  return [...new Set(ids.filter(isRealId))]
}
