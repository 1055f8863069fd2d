import { HOUR_MS } from '../../../lib/durations.ts'
import type { OrderedEvent } from './event-order.ts'
import type { Purchase } from './purchase.ts'

/** By how much the store and the billing provider may differ about the times of a period. */
export const PERIOD_TOLERANCE_MS = HOUR_MS

/** These events start a period: they keep only the purchase's start and latest product change from before. */
export const PERIOD_STARTS = new Set(['INITIAL_PURCHASE', 'RENEWAL', 'NON_RENEWING_PURCHASE'])

/** Whether the billing provider knows of a later period than the store does: the store's event may be missing. */
export function startsLaterPeriod(purchase: Purchase, event: OrderedEvent): boolean {
  const isStart = PERIOD_STARTS.has(event.type) || event.type === 'HOMEPORT_RECONCILED'
  return isStart && !isOfSamePeriod(purchase, event) && !isForEarlierPeriod(purchase, event)
}

/** What tells the period of an event, or of a report. */
type PeriodOfEvent = Pick<OrderedEvent, 'purchasedAt' | 'transactionId' | 'stated'>

/** Periods are compared by transaction, else by start, which may differ a little between the store and the provider. */
export function isOfSamePeriod({ stated, purchasedAt }: Purchase, event: PeriodOfEvent): boolean {
  const known = stated?.transactionId
  if (known && known === event.transactionId) return true
  // A store's ids are certain: an upgrade or a sandbox renewal may start within the tolerance.
  if (known && event.transactionId !== null && event.stated !== null) return false
  if (purchasedAt === null || event.purchasedAt === null) return true
  return Math.abs(event.purchasedAt - purchasedAt) <= PERIOD_TOLERANCE_MS
}

export function isDistinctEarlierPeriod(purchase: Purchase, event: PeriodOfEvent): boolean {
  return isForEarlierPeriod(purchase, event) && !isOfSamePeriod(purchase, event)
}

/** Whether an event is about an earlier period. Such an event ends nothing. */
export function isForEarlierPeriod({ purchasedAt }: Purchase, event: PeriodOfEvent): boolean {
  return purchasedAt !== null && event.purchasedAt !== null && event.purchasedAt < purchasedAt
}
