import { createLruMap } from '../../lib/lru-map.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import { lastsUntil, tooManyAttempts } from './limits.ts'

type Window = { count: number; until: Date }

const WINDOW_MS = 10 * MINUTE_MS
const MAX_ADDRESSES = 10_000

type FailureLimitDeps = {
  hasLimits: boolean
  /** Per IP address in ten minutes. */
  max: number
  now: () => Date
}

/** Limits the failed requests of each IP address, in the memory of this process. */
export function createFailureLimit({ hasLimits, max, now }: FailureLimitDeps) {
  const windows = createLruMap<string, Window>(MAX_ADDRESSES)
  const windowByRequest = new WeakMap<Request, Window>()
  return { countFailure, release }

  /** Counts a request as a failure until it is released. Throws `rate_limited` when there were too many. */
  function countFailure(request: Request, address: string) {
    if (!hasLimits) return
    const at = now()
    let window = windows.get(address)
    if (!window || !lastsUntil(window.until, at, WINDOW_MS / 1000)) {
      window = { count: 0, until: new Date(at.getTime() + WINDOW_MS) }
      windows.set(address, window)
    }
    if (window.count >= max) throw tooManyAttempts(window.until, at)
    window.count++
    windowByRequest.set(request, window)
  }

  function release(request: Request) {
    const window = windowByRequest.get(request)
    if (window) window.count--
  }
}
