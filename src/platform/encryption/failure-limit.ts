import { createRecentMap } from '../../lib/recent-map.ts'
import { tooManyAttempts } from '../limits/limits.ts'

type Window = { count: number; until: Date }

/** How many sealed requests per IP address may fail in a window: each one leaves a row behind. */
const MAX_FAILURES = 3_000
const WINDOW_MS = 10 * 60 * 1000
const MAX_ADDRESSES = 10_000

/** Limits failed sealed requests per IP address, because even those of anonymous clients are recorded. */
export function createFailureLimit({ hasLimits, now }: { hasLimits: boolean; now: () => Date }) {
  const windows = createRecentMap<string, Window>(MAX_ADDRESSES)
  const windowByRequest = new WeakMap<Request, Window>()
  return { countFailure, release }

  /** Counts a request as a failure until it is released. Throws `rate_limited` when there were too many. */
  function countFailure(request: Request, address: string) {
    if (!hasLimits) return
    const at = now()
    let window = windows.get(address)
    if (!window || window.until <= at) {
      window = { count: 0, until: new Date(at.getTime() + WINDOW_MS) }
      windows.set(address, window)
    }
    if (window.count >= MAX_FAILURES) throw tooManyAttempts(window.until, at)
    window.count++
    windowByRequest.set(request, window)
  }

  /** Call this once the request has succeeded. */
  function release(request: Request) {
    const window = windowByRequest.get(request)
    if (window) window.count--
  }
}
