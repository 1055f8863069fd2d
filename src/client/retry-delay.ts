const RETRY_MS = 2_000
const MAX_RETRY_MS = 60_000

/** Milliseconds to wait after a number of failures, randomized so that phones do not all retry at once. */
export function retryDelay(failures: number): number {
  return Math.min(RETRY_MS * 2 ** failures, MAX_RETRY_MS) * (0.5 + Math.random())
}
