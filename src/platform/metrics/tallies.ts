import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import type { Tx } from '../db/db.ts'
import {
  addBuckets,
  addValue,
  computeQuantile,
  createHistogram,
  type Histogram,
  listBuckets,
} from './histogram.ts'
import type { Tally, TallySet } from './schema.ts'
import type { HistoryStore } from './store.ts'

type TalliesDeps = { store: HistoryStore; instance: string; now: () => Date }

/** See `Tally` for what soft and hard failures are. */
export type Failure = 'soft' | 'hard' | null
export type RunningTally = Omit<Tally, 'times'> & { times: Histogram }

export type Tallies = ReturnType<typeof createTallies>

export const FINE = { span: 'tallies 5m', ms: 5 * MINUTE_MS } as const
export const COARSE = { span: 'tallies 1h', ms: HOUR_MS } as const
/** The names of all other counts begin with this. */
const OTHER_KINDS = /^(webhook|billing) /
/** Figures of longer spans are sums of hours. */
const MAX_FINE_HOURS = 6

/** Stores counts by name, per five minutes and per hour. */
export function createTallies({ store, instance, now }: TalliesDeps) {
  return { add, list }

  async function add(tx: Tx, latest: TallySet) {
    const minute = now().getTime() - MINUTE_MS
    for (const { span, ms } of [FINE, COARSE]) {
      const at = new Date(Math.floor(minute / ms) * ms)
      const stored = await store.find(tx, span, at, instance)
      const values = stored === null ? latest : mergeTallies([stored, latest])
      await store.put(tx, span, { at, instance, values })
    }
  }

  /** The figures by name of all instances over the last `hours`, and when that time began. */
  async function list(hours: number) {
    const { span, ms } = hours <= MAX_FINE_HOURS ? FINE : COARSE
    const until = now().getTime()
    const since = Math.floor((until - hours * HOUR_MS) / ms) * ms
    const rows = await store.read(span, since, until)
    const { tallies } = mergeTallies(rows.map(({ values }) => values))
    const figures = Object.entries(tallies).map(([name, tally]) => ({
      name,
      ...computeFigures(tally),
    }))
    return { since: new Date(since).toISOString(), figures }
  }
}

/** Whether requests are counted under `name`, rather than attempts of a webhook or billing events. */
export function isRequest(name: string): boolean {
  return !OTHER_KINDS.test(name)
}

/** The counts of a tally, and its quantiles in the unit of its times. */
export function computeFigures({ times, ...counts }: Tally) {
  return { ...counts, p50: computeQuantile(times, 0.5), p99: computeQuantile(times, 0.99) }
}

export function mergeTallies(list: TallySet[]): TallySet {
  const sums = new Map<string, RunningTally>()
  let minutes = 0
  for (const set of list) {
    minutes += set.minutes
    for (const [name, { count, soft, hard, times }] of Object.entries(set.tallies)) {
      const sum = sums.get(name) ?? createTally()
      sum.count += count
      sum.soft += soft
      sum.hard += hard
      addBuckets(sum.times, times)
      sums.set(name, sum)
    }
  }
  return { minutes, tallies: Object.fromEntries([...sums].map(toStored)) }
}

export function createTally(): RunningTally {
  return { count: 0, soft: 0, hard: 0, times: createHistogram() }
}

/** A null `value` adds nothing to the times. */
export function addToTally(tally: RunningTally, value: number | null, failure: Failure) {
  tally.count++
  if (failure !== null) tally[failure]++
  if (value !== null) addValue(tally.times, value)
}

export function toStored([name, tally]: [string, RunningTally]): [string, Tally] {
  return [name, { ...tally, times: listBuckets(tally.times) }]
}
