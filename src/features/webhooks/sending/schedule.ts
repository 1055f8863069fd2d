import { HOUR_MS, MINUTE_MS } from '../../../lib/time/durations.ts'

const SECOND_MS = 1_000

/** Delays before the second and later attempts. With jitter and Retry-After they end within three days. */
export const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  7 * HOUR_MS,
  19 * HOUR_MS,
  32 * HOUR_MS,
]

/** Delays are up to this share longer, so that deliveries are not all retried at once. */
export const JITTER = 0.1
export const MAX_RETRY_AFTER_MS = HOUR_MS

/** The longest time from an attempt until the next one is due. */
export const MAX_DELAY_MS = Math.max(...RETRY_DELAYS_MS) * (1 + JITTER)

/** A Retry-After header in ms; null when it is absent or invalid. */
export function parseRetryAfter(header: string | null, now: Date): number | null {
  if (header === null) return null
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND_MS
  const time = Date.parse(header)
  return Number.isNaN(time) ? null : Math.max(0, time - now.getTime())
}
