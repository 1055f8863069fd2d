import type { AttemptResult } from './attempt.ts'

type Pace = {
  /** How many requests may run at a time, rounded down. */
  limit: number
  delivered: number
  /** The shortest and the longest of the last responses, in ms. */
  fastest: number
  slowest: number
  /** In the time of `performance.now()`. */
  resumesAt: number
}

/** Requests at a time to one endpoint. For the maximum number of endpoints, the total is below Bun's limit of 256. */
const MAX_LIMIT = 8
/** How much weight the longest and shortest durations keep after each response. */
const DECAY = 0.98
/** Whether a busy or broken receiver caused the failure, rather than the message. */
const isOverload = ({ outcome, status }: AttemptResult) =>
  outcome === 'unreachable' || status === 429 || (status ?? 0) >= 500

/**
 * A receiver keeps working on requests that timed out, and the next ones would wait behind them: after time-outs it gets a
 * pause, then one request, then more while its responses stay fast.
 */
export function createPaces(timeoutMs: number) {
  const paces = new Map<string, Pace>()
  return { findLimit, start }

  /** How many requests may run at a time. */
  function findLimit(id: string): number {
    const { limit, resumesAt } = findPace(id)
    return performance.now() < resumesAt ? 0 : Math.floor(limit)
  }

  /** Begins a request. The function that it returns takes the result, and returns how long to pause, in ms. */
  function start(id: string): (result: AttemptResult) => number {
    const pace = findPace(id)
    const deliveredBefore = pace.delivered
    return (result) => {
      if (result.outcome === 'delivered') adapt(pace, result.duration)
      else if (result.outcome === 'timeout') {
        pace.limit = 1
        // At most twice the time that the receiver takes for a request, judging by its responses since.
        const needed = (2 * timeoutMs) / Math.max(2, pace.delivered - deliveredBefore)
        pace.resumesAt = Math.max(pace.resumesAt, performance.now()) + needed
      } else if (isOverload(result)) pace.limit = Math.max(1, pace.limit / 2)
      return Math.max(0, pace.resumesAt - performance.now())
    }
  }

  function adapt(pace: Pace, duration: number) {
    pace.delivered++
    pace.fastest = Math.min(duration, pace.fastest / DECAY)
    pace.slowest = Math.max(duration, pace.slowest * DECAY)
    const { limit, fastest, slowest } = pace
    const isQueueing = duration > timeoutMs / 2 && duration > 1.5 * fastest
    if (isQueueing) pace.limit = Math.max(1, limit - 1)
    // With a single worker, each additional request slows the receiver down in proportion.
    else if ((slowest * (limit + 1)) / limit <= 0.8 * timeoutMs)
      pace.limit = Math.min(MAX_LIMIT, limit + 1 / limit)
  }

  function findPace(id: string): Pace {
    const known = paces.get(id)
    if (known) return known
    const pace = {
      limit: MAX_LIMIT,
      delivered: 0,
      fastest: Infinity,
      slowest: 0,
      resumesAt: 0,
    }
    paces.set(id, pace)
    return pace
  }
}
