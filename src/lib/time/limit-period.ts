import { addMonths, DAY_MS, type Renewal } from './durations.ts'
import { type LimitPeriod, limitsByName, periodsByName } from './plan-limits.ts'

/** `endsAt` is null if the period never ends. Periods begin at midnight UTC. */
export type PeriodBounds = { startsAt: Date; endsAt: Date | null }

/** A renewal may be up to three days later than the day of the month suggests, because months differ in length. */
const MAX_LATE_RENEWAL_MS = 3 * DAY_MS
/** How much later than expected a period may end: at the midnight after a late renewal that does not take place. */
export const MAX_EXTENSION_MS = MAX_LATE_RENEWAL_MS + DAY_MS
const TOTAL_PERIOD_START = new Date(0)

export function findPlanLimits(
  plan: Parameters<typeof periodsByName>[0] & Parameters<typeof limitsByName>[0],
) {
  const periods = periodsByName(plan)
  return Object.entries(limitsByName(plan)).map(([name, limit]) => {
    return { name, period: periods[name] ?? ('month' as const), limit }
  })
}

/** Months begin on the purchase's renewal day; without a purchase, on the first day of the calendar month. */
export function periodAt(period: LimitPeriod, now: Date, renewal: Renewal | null): PeriodBounds {
  if (period === 'total') return { startsAt: TOTAL_PERIOD_START, endsAt: null }
  const today = toStartOfDay(now)
  if (period === 'day') return { startsAt: today, endsAt: new Date(today.getTime() + DAY_MS) }
  if (renewal === null) return findCalendarMonth(now)
  const first = toStartOfDay(renewal.startedAt)
  const renewsAt = renewal.endsAt && toStartOfDay(renewal.endsAt)
  const boundary = (months: number) => {
    if (months < 0) return findEarlierMonth(first, -months, renewal.firstStartedAt, now)
    return months === 0
      ? first
      : withRenewal(new Date(addMonths(first.getTime(), months)), renewsAt, renewal.renews)
  }
  let months = monthsBetween(first, now)
  // A renewal that was paid early begins later: until then, the month before it continues.
  while (boundary(months) > now) months--
  return { startsAt: boundary(months), endsAt: boundary(months + 1) }
}

/**
 * Before 28 February, the month may have begun on 31 January. It never begins before the purchase: the month of a trial
 * lasts until its early renewal.
 */
function findEarlierMonth(first: Date, months: number, firstStartedAt: Date, now: Date): Date {
  const start = toStartOfDay(firstStartedAt).getTime()
  const age = monthsBetween(firstStartedAt, first)
  const isOfSameDays = addMonths(start, age) === first.getTime()
  const month = isOfSameDays ? addMonths(start, age - months) : addMonths(first.getTime(), -months)
  return new Date(start <= now.getTime() ? Math.max(month, start) : month)
}

/**
 * A renewal at most three days after the boundary replaces it (31 January renews on 31 March); if the purchase will not
 * renew, the midnight after its end does.
 */
function withRenewal(boundary: Date, renewsAt: Date | null, renews: boolean): Date {
  const late = renewsAt === null ? -1 : renewsAt.getTime() - boundary.getTime()
  if (renewsAt === null || late < 0 || late > MAX_LATE_RENEWAL_MS) return boundary
  return renews ? renewsAt : new Date(renewsAt.getTime() + DAY_MS)
}

function findCalendarMonth(now: Date): PeriodBounds {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return { startsAt: new Date(Date.UTC(year, month)), endsAt: new Date(Date.UTC(year, month + 1)) }
}

function monthsBetween(from: Date, to: Date): number {
  const years = to.getUTCFullYear() - from.getUTCFullYear()
  return years * 12 + to.getUTCMonth() - from.getUTCMonth()
}

function toStartOfDay(time: Date): Date {
  return new Date(Math.floor(time.getTime() / DAY_MS) * DAY_MS)
}
