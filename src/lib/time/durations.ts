export const MINUTE_MS = 60 * 1000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** The same day and time of a later month (UTC), or the month's last day. Times in ms. */
export function addMonths(ms: number, months: number): number {
  const time = new Date(ms)
  const day = time.getUTCDate()
  time.setUTCMonth(time.getUTCMonth() + months, 1)
  const lastDay = new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 0)).getUTCDate()
  return time.setUTCDate(Math.min(day, lastDay))
}

/**
 * The current period of a purchase. `endsAt` is null if there is no end or it is unknown. `firstStartedAt`: when the
 * first period began. `renews`: whether another period is expected.
 */
export type Renewal = {
  startedAt: Date
  endsAt: Date | null
  firstStartedAt: Date
  renews: boolean
}
