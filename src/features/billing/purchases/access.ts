import { addMonths, DAY_MS, HOUR_MS } from '../../../lib/time/durations.ts'
import { findEnd } from './periods.ts'
import type { Purchase } from './purchase.ts'
import { endSuperseded } from './supersession.ts'

/** A month may be shorter than 28 days: when the clocks change, or because a payment was recovered late. */
const SHORTEST_MONTH_MS = 20 * DAY_MS
/** How long after the end of a period the App Store may still collect a payment without moving the billing day. */
const MAX_RECOVERY_MS = 28 * DAY_MS
/** The App Store's period lengths in months. Two is left out, because an extended month looks the same. */
const MONTHS_OF_PERIODS = [1, 3, 6, 12]
/** Months differ in length, so a later billing day may move without a recovered payment. */
const LAST_COMMON_DAY = 27

type Status =
  | 'trialing'
  | 'active'
  | 'in_grace_period'
  | 'in_billing_retry'
  | 'paused'
  | 'expired'
  | 'refunded'
  | 'consumed'

/** A purchase at a point in time. `effectiveEnd` in ms; null: never. */
export type PurchaseAccess<T extends Purchase = Purchase> = T & {
  active: boolean
  status: Status
  effectiveEnd: number | null
}

type Entitlement = { id: string; active: boolean; purchase: PurchaseAccess }

type AssessmentOptions = {
  comparablePrice?: (purchase: Purchase) => number
  /** How long the store may take to report a renewal, in ms. */
  graceMs?: number
}

/** Best first, at `now` (ms). */
export function assessPurchases<T extends Purchase>(
  purchases: T[],
  now: number,
  { comparablePrice = ({ price }) => price ?? 0, graceMs = 0 }: AssessmentOptions = {},
): PurchaseAccess<T>[] {
  return endSuperseded(purchases)
    .map((purchase) => ({
      purchase: computeAccess(purchase, now, graceMs),
      price: comparablePrice(purchase),
    }))
    .toSorted(
      (a, b) =>
        compareAccess(a.purchase, b.purchase) ||
        b.price - a.price ||
        compareStart(a.purchase, b.purchase),
    )
    .map(({ purchase }) => purchase)
}

/**
 * Periods shorter than a month count from the start of the first one. A payment recovered in the grace period belongs
 * to the month that began with the grace period.
 */
export function computeRenewal(purchase: Purchase) {
  const { purchasedAt, startedAt, expiresAt, willRenew, billingIssueDetectedAt } = purchase
  const from = purchasedAt ?? startedAt
  const isShort = expiresAt !== null && expiresAt - from < SHORTEST_MONTH_MS
  return {
    startedAt: new Date(isShort ? startedAt : (billingDayBefore(purchase, from) ?? from)),
    endsAt: isShort || expiresAt === null ? null : new Date(expiresAt),
    firstStartedAt: new Date(startedAt),
    renews: willRenew || billingIssueDetectedAt !== null,
  }
}

/** When the period of a recovered payment began; null if it began with the payment. */
function billingDayBefore(purchase: Purchase, from: number): number | null {
  const { store, expiresAt, startedAt } = purchase
  if (expiresAt === null || from <= startedAt || !store?.endsWith('APP_STORE')) return null
  const days = MONTHS_OF_PERIODS.map((months) => addMonths(expiresAt, -months))
  const day = days.find((at) => at <= from)
  if (day === undefined) return null
  const delay = from - day
  const isClear = new Date(expiresAt).getUTCDate() <= LAST_COMMON_DAY || delay > 3 * DAY_MS
  return isClear && delay > 2 * HOUR_MS && delay < MAX_RECOVERY_MS ? day : null
}

/** Whether it gives an entitlement while it is active: apps check entitlements. */
export function unlocks({ entitlementIds }: Pick<Purchase, 'entitlementIds'>): boolean {
  return entitlementIds.length > 0
}

/** Bought once and without an entitlement, such as coins. The provider reports such purchases without an end. */
export function isOneTime(purchase: PurchaseAccess): boolean {
  const { status, expiresAt, grant } = purchase
  return status === 'consumed' || (expiresAt === null && grant === null && !unlocks(purchase))
}

/** Each entitlement once, with the purchase that gives it for longest; granted access comes after purchases. */
export function computeEntitlements(purchases: PurchaseAccess[]): Entitlement[] {
  const found = new Map<string, Entitlement>()
  for (const purchase of purchases.toSorted(compareForEntitlement)) {
    for (const id of purchase.entitlementIds) {
      if (!found.has(id)) found.set(id, { id, active: purchase.active, purchase })
    }
  }
  return [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** `purchases`: best first. */
export function activeEntitlementIds(purchases: PurchaseAccess[]): string[] {
  return computeEntitlements(purchases).flatMap(({ id, active }) => (active ? [id] : []))
}

function computeAccess<T extends Purchase>(
  purchase: T,
  now: number,
  graceMs: number,
): PurchaseAccess<T> {
  const end = computeEffectiveEnd(purchase)
  const isLate = end !== null && end <= now && isExpectedToRenew(purchase)
  const effectiveEnd = isLate ? end + graceMs : end
  const active = effectiveEnd === null || effectiveEnd > now
  return { ...purchase, effectiveEnd, active, status: computeStatus(purchase, active, now) }
}

/** Whether the store's latest word is that the purchase will renew. */
function isExpectedToRenew(purchase: Purchase): boolean {
  const { stated, willRenew, billingIssueDetectedAt, endedAt } = purchase
  return stated !== null && willRenew && billingIssueDetectedAt === null && endedAt === null
}

/** The end of the period, or the earlier end of the whole purchase. */
function computeEffectiveEnd(purchase: Purchase): number | null {
  const { endedAt } = purchase
  const end = findEnd(purchase)
  if (endedAt === null) return end
  return end === null ? endedAt : Math.min(end, endedAt)
}

function computeStatus(purchase: Purchase, active: boolean, now: number): Status {
  if (purchase.refundedAt !== null) return 'refunded'
  if (purchase.periodType === 'CONSUMABLE') return 'consumed'
  if (!active) return purchase.pausedAt !== null ? 'paused' : 'expired'
  if (purchase.billingIssueDetectedAt !== null) {
    return purchase.graceExpiresAt !== null && purchase.graceExpiresAt > now
      ? 'in_grace_period'
      : 'in_billing_retry'
  }
  return purchase.periodType === 'TRIAL' ? 'trialing' : 'active'
}

/** Prefers purchases to granted access, because they also show renewals and payment problems. */
function compareForEntitlement(a: PurchaseAccess, b: PurchaseAccess): number {
  const grantsLast = a.active && b.active ? Number(a.grant !== null) - Number(b.grant !== null) : 0
  return grantsLast || compareAccess(a, b)
}

/** Active purchases first, then by the later end. */
function compareAccess(a: PurchaseAccess, b: PurchaseAccess): number {
  const end = ({ effectiveEnd }: PurchaseAccess) => effectiveEnd ?? Number.POSITIVE_INFINITY
  if (a.active !== b.active) return a.active ? -1 : 1
  return end(a) === end(b) ? 0 : end(a) > end(b) ? -1 : 1
}

/** Breaks ties, so that the order is total. */
function compareStart(a: PurchaseAccess, b: PurchaseAccess): number {
  return b.startedAt - a.startedAt || ((a.productId ?? '') < (b.productId ?? '') ? -1 : 1)
}
