import { DENIAL_REASONS, type DenialReason } from '../../lib/errors.ts'
import type { TallySet } from './schema.ts'
import { addToTally, createTally, type Failure, type RunningTally, toStored } from './tallies.ts'

/** `route` is the route pattern, `code` the code of the response, if any. */
export type RequestLabels = { method: string; route: string; status: number; code: string }

/** An attempt of a webhook or a billing event. */
type Observation = {
  /** In the unit of the tally's times; null adds nothing to them. */
  value: number | null
  failure: Failure
}

/** Requests with the same labels since the start. */
export type RequestSeries = {
  labels: RequestLabels
  /** The name of their endpoint, and its tally. */
  name: string
  tally: RunningTally
  failure: Failure
  count: number
  /** In seconds. */
  sum: number
  /** Counts by `LIMITS`; the last one is for longer times. */
  buckets: number[]
  /** How many of them a webhook refused that were not deliveries. */
  strays: number
}

export type Registry = ReturnType<typeof createRegistry>

/** Upper bounds in seconds: from a cached read to a client that gives up. */
export const LIMITS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Counts in memory, for `/metrics`, alerts and charts. Names and labels must come from fixed lists, such as routes. */
export function createRegistry() {
  const requests = new Map<string, RequestSeries>()
  const tallies = new Map<string, RunningTally>()
  const denials = startAtZero(DENIAL_REASONS)
  return {
    observeRequest,
    observe,
    countDenial,
    takeTallies,
    requests: () => [...requests.values()],
    denials: () => denials,
  }

  /** Runs on every request. */
  function observeRequest(labels: RequestLabels, seconds: number, isStray = false): RequestSeries {
    const series = findSeries(labels)
    series.count++
    series.sum += seconds
    let bucket = 0
    while (seconds > (LIMITS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1
    if (isStray && labels.status >= 400) series.strays++
    addToTally(series.tally, seconds * 1000, series.failure)
    return series
  }

  function findSeries(labels: RequestLabels): RequestSeries {
    const { method, route, status, code } = labels
    const key = `${method} ${route} ${status} ${code}`
    const known = requests.get(key)
    if (known !== undefined) return known
    // All unknown paths count as one, whatever their method.
    const name = route === 'none' ? route : `${method} ${route}`
    const failure = status >= 500 ? 'hard' : status >= 400 ? 'soft' : null
    const buckets = Array<number>(LIMITS.length + 1).fill(0)
    const counts = { count: 0, sum: 0, buckets, strays: 0 }
    const series: RequestSeries = { labels, name, tally: findTally(name), failure, ...counts }
    requests.set(key, series)
    return series
  }

  /** Counts anything but a request under `name`. */
  function observe(name: string, { value, failure }: Observation) {
    addToTally(findTally(name), value, failure)
  }

  function findTally(name: string): RunningTally {
    const tally = tallies.get(name) ?? createTally()
    tallies.set(name, tally)
    return tally
  }

  /** Returns the counts by name since the last call. */
  function takeTallies(): TallySet {
    const counted = [...tallies].filter(([, { count }]) => count > 0)
    const taken = Object.fromEntries(counted.map(toStored))
    for (const [, tally] of counted) {
      Object.assign(tally, { count: 0, soft: 0, hard: 0 })
      tally.times.fill(0)
    }
    return { minutes: 1, tallies: taken }
  }

  function countDenial(reason: DenialReason) {
    denials[reason]++
  }
}

/** Counts that start at 0: `increase()` of Prometheus needs an earlier sample. */
export function startAtZero<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
}
