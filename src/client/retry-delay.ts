const RETRY_MS = 2_000
const MAX_RETRY_MS = 60_000
const MAX_RETRY_AFTER_SECONDS = 3_600

/** Milliseconds to wait after a number of failures, randomized so that phones do not all retry at once. */
export function retryDelay(failures: number): number {
  return Math.min(RETRY_MS * 2 ** failures, MAX_RETRY_MS) * (0.5 + Math.random())
}

/** A longer `Retry-After` comes from an intermediary or a wrong clock. Returns 0 if there is none. */
export function retryAfterMs(seconds: number | null): number {
  return Math.min(seconds ?? 0, MAX_RETRY_AFTER_SECONDS) * 1_000
}
