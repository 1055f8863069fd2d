import type { AttemptResult } from './attempt.ts'

type Pace = {
  /** Requests at a time; the whole part counts. */
  limit: number
  delivered: number
  /** The shortest and the longest of the last responses, in ms. */
  fastest: number
  slowest: number
  /** By `performance.now()`. */
  resumesAt: number
}

/** At once, to one endpoint. Times the maximum number of endpoints it stays below Bun's limit of 256 requests. */
const MAX_LIMIT = 8
/** How much of a longest or shortest response is remembered after the next one. */
const DECAY = 0.98
/** A failure that a busy or broken receiver causes, rather than the message. */
const isOverload = ({ outcome, status }: AttemptResult) =>
  outcome === 'unreachable' || status === 429 || (status ?? 0) >= 500

/**
 * A receiver keeps working on requests that timed out, and the next ones would wait behind them: after time-outs it gets a
 * pause, then one request, then more while its responses stay fast.
 */
export function createPaces(timeoutMs: number) {
  const paces = new Map<string, Pace>()
  return { findLimit, start }

  /** At a time. */
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
    // One more request makes a receiver with one worker slower by its share.
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
