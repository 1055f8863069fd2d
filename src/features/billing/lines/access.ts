import type { Line } from './line.ts'
import { supersede } from './supersession.ts'

type Status =
  | 'trialing'
  | 'active'
  | 'in_grace_period'
  | 'in_billing_retry'
  | 'paused'
  | 'expired'
  | 'refunded'

/** A line as it stands at an instant. `effectiveEnd` in ms; null: never. */
export type LineAccess<T extends Line = Line> = T & {
  active: boolean
  status: Status
  effectiveEnd: number | null
}

export type Entitlement = { id: string; active: boolean; line: LineAccess }

/** What lines of one customer in one environment give at `now` (ms), the best one first. */
export function lineAccessAt<T extends Line>(
  lines: T[],
  now: number,
  priceOf: (line: Line) => number = ({ price }) => price ?? 0,
): LineAccess<T>[] {
  return supersede(lines)
    .map((line) => ({ line: accessOf(line, now), price: priceOf(line) }))
    .toSorted(
      (a, b) => compareAccess(a.line, b.line) || b.price - a.price || compareStart(a.line, b.line),
    )
    .map(({ line }) => line)
}

/** Each entitlement once: active if any line grants it, with the best line that names it. */
export function entitlementsOf(lines: LineAccess[]): Entitlement[] {
  const found = new Map<string, Entitlement>()
  for (const line of lines) {
    for (const id of line.entitlementIds) {
      if (!found.has(id)) found.set(id, { id, active: line.active, line })
    }
  }
  return [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

function accessOf<T extends Line>(line: T, now: number): LineAccess<T> {
  const effectiveEnd = effectiveEndOf(line)
  const active = effectiveEnd === null || effectiveEnd > now
  return { ...line, effectiveEnd, active, status: statusOf(line, active, now) }
}

/** The later of period and grace, unless it was ended before. */
function effectiveEndOf({ expiresAt, graceExpiresAt, endedAt }: Line): number | null {
  const end = expiresAt === null ? null : Math.max(expiresAt, graceExpiresAt ?? 0)
  if (endedAt === null) return end
  return end === null ? endedAt : Math.min(end, endedAt)
}

function statusOf(line: Line, active: boolean, now: number): Status {
  if (line.refundedAt !== null) return 'refunded'
  if (!active) return line.pausedAt !== null ? 'paused' : 'expired'
  if (line.billingIssueDetectedAt !== null) {
    return line.graceExpiresAt !== null && line.graceExpiresAt > now
      ? 'in_grace_period'
      : 'in_billing_retry'
  }
  return line.periodType === 'TRIAL' ? 'trialing' : 'active'
}

/** Active first, then the later end; of two the dearer one counts. */
function compareAccess(a: LineAccess, b: LineAccess): number {
  const end = ({ effectiveEnd }: LineAccess) => effectiveEnd ?? Number.POSITIVE_INFINITY
  if (a.active !== b.active) return a.active ? -1 : 1
  return end(a) === end(b) ? 0 : end(a) > end(b) ? -1 : 1
}

/** The final tie-breaker, so that the order is total. */
function compareStart(a: LineAccess, b: LineAccess): number {
  return b.startedAt - a.startedAt || ((a.productId ?? '') < (b.productId ?? '') ? -1 : 1)
}
