type Retries = {
  /** In ms, after the first failure, the second and so on. */
  delays: readonly number[]
  /** The delay after all further failures; null if none is retried. */
  thenMs?: number | null
  /** Delays are up to this share longer, so that items are not all retried at once. */
  jitter?: number
  /** How long the other side asks to wait. */
  atLeastMs?: number | null
  /** Returns a number from 0 to 1. */
  random?: () => number
}

/** How long to wait after a failure, in ms; null after the last one. `failures` counts the earlier ones. */
export function retryDelay(failures: number, retries: Retries & { thenMs: number }): number
export function retryDelay(failures: number, retries: Retries): number | null
export function retryDelay(
  failures: number,
  { delays, thenMs = null, jitter = 0, atLeastMs, random = Math.random }: Retries,
): number | null {
  const delay = delays[failures] ?? thenMs
  if (delay === null) return null
  return Math.round(Math.max(delay * (1 + jitter * random()), atLeastMs ?? 0))
}
