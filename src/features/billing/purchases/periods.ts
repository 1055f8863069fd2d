import { HOUR_MS } from '../../../lib/time/durations.ts'
import type { OrderedEvent } from './event-order.ts'
import type { Purchase } from './purchase.ts'

/** By how much the store and the billing provider may differ about the times of a period. */
export const PERIOD_TOLERANCE_MS = HOUR_MS

/** These events start a period: they keep only the purchase's start and latest product change from before. */
export const PERIOD_STARTS = new Set(['INITIAL_PURCHASE', 'RENEWAL', 'NON_RENEWING_PURCHASE'])

const PERIODS_WITHOUT_RENEWAL = new Set(['PREPAID', 'PROMOTIONAL'])

/** When a purchase ends unless it is renewed; null: never. */
export function findEnd(purchase: Pick<Purchase, 'expiresAt' | 'graceExpiresAt'>): number | null {
  const { expiresAt, graceExpiresAt } = purchase
  return expiresAt === null ? null : Math.max(expiresAt, graceExpiresAt ?? 0)
}

/** Whether a period can renew at all. */
export function canRenew({ periodType }: Pick<OrderedEvent, 'periodType'>): boolean {
  return !PERIODS_WITHOUT_RENEWAL.has(periodType ?? '')
}

/** Whether the billing provider knows of a later period than the store does: the store's event may be missing. */
export function startsLaterPeriod(purchase: Purchase, event: OrderedEvent): boolean {
  const isStart = PERIOD_STARTS.has(event.type) || event.type === 'HOMEPORT_RECONCILED'
  return isStart && !isOfSamePeriod(purchase, event) && !isForEarlierPeriod(purchase, event)
}

type PeriodOfEvent = Pick<OrderedEvent, 'purchasedAt' | 'expiresAt' | 'transactionId' | 'stated'>

/** Periods are compared by transaction, else by start, which may differ a little between the store and the provider. */
export function isOfSamePeriod(purchase: Purchase, event: PeriodOfEvent): boolean {
  const { stated, purchasedAt } = purchase
  const known = stated?.transactionId
  if (known && known === event.transactionId) return true
  // An upgrade or a sandbox renewal may start within the tolerance, so between store events only equal times count. A
  // purchase that is restored on another device may get another transaction for the same period.
  if (known && event.transactionId !== null && event.stated !== null)
    return purchasedAt !== null && isEqualPeriod(purchase, event)
  const later = compareEnds(purchase, event)
  if (later !== null) return Math.abs(later) <= PERIOD_TOLERANCE_MS
  if (purchasedAt === null || event.purchasedAt === null) return true
  return Math.abs(event.purchasedAt - purchasedAt) <= PERIOD_TOLERANCE_MS
}

export function isDistinctEarlierPeriod(purchase: Purchase, event: PeriodOfEvent): boolean {
  return isForEarlierPeriod(purchase, event) && !isOfSamePeriod(purchase, event)
}

/** Whether an event is about an earlier period. Such an event ends nothing. */
export function isForEarlierPeriod(purchase: Purchase, event: PeriodOfEvent): boolean {
  const { purchasedAt } = purchase
  const later = compareEnds(purchase, event)
  if (later !== null) return later < -PERIOD_TOLERANCE_MS
  return purchasedAt !== null && event.purchasedAt !== null && event.purchasedAt < purchasedAt
}

function isEqualPeriod({ purchasedAt, expiresAt }: Purchase, event: PeriodOfEvent): boolean {
  return purchasedAt === event.purchasedAt && expiresAt === event.expiresAt
}

/** Whether an event is about a period that had ended when the current one began. Such an event changes nothing. */
export function isForEndedPeriod({ purchasedAt }: Purchase, event: PeriodOfEvent): boolean {
  if (purchasedAt === null || event.purchasedAt === null || event.expiresAt === null) return false
  const isEarlier = event.purchasedAt < purchasedAt
  return isEarlier && event.expiresAt <= purchasedAt + PERIOD_TOLERANCE_MS
}

/** Compares ends, in ms. Null unless Google stated no start, as for a period that it was not queried about. */
function compareEnds({ stated, purchasedAt, expiresAt }: Purchase, event: PeriodOfEvent) {
  if (stated === null || purchasedAt !== null || event.stated !== null) return null
  return expiresAt === null || event.expiresAt === null ? null : event.expiresAt - expiresAt
}
