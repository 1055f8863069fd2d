import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import { findEnd } from './periods.ts'
import type { Purchase } from './purchase.ts'

/**
 * `afterMs`: how long after the end of a period its source should have reported what followed. `untilMs`: how long
 * Homeport queries the source.
 */
export const REFRESHES = {
  /** The billing provider: each of its customers in turn, once a day. */
  provider: { afterMs: HOUR_MS, untilMs: 60 * DAY_MS },
  /** Apple and Google try to charge a customer for 60 days, and Google then deletes the purchase. */
  store: { afterMs: 10 * MINUTE_MS, untilMs: 61 * DAY_MS },
}

/** Whether a period has ended without news for `afterMs`, or the store may still collect the payment. */
export function isOverdue(purchase: Purchase, afterMs: number, now: number): boolean {
  const { endedAt, refundedAt, billingIssueDetectedAt } = purchase
  const isSettled = refundedAt !== null || (endedAt !== null && billingIssueDetectedAt === null)
  const end = findEnd(purchase)
  return !isSettled && end !== null && end + afterMs <= now
}
