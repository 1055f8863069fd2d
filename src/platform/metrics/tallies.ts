import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
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

/** A reply, an attempt or an event: `Tally` says what soft and hard failures are. */
export type Observation = {
  /** In the unit of the tally's times; null adds nothing to them. */
  value: number | null
  failure: 'soft' | 'hard' | null
}

export type Tallies = ReturnType<typeof createTallies>

type Running = Omit<Tally, 'times'> & { times: Histogram }

/** The stored spans and their lengths. */
export const FINE = { span: 'tallies 5m', ms: 5 * MINUTE_MS } as const
export const COARSE = { span: 'tallies 1h', ms: HOUR_MS } as const
/** Figures of longer spans are summed up from hours. */
const MAX_FINE_HOURS = 6

/** Counts by name in memory, and adds the counts of each minute to those stored per five minutes and per hour. */
export function createTallies({ store, instance, now }: TalliesDeps) {
  let running = new Map<string, Running>()
  return { observe, flush, list }

  /** On the path of every request. The names must come from a fixed list, such as route patterns. */
  function observe(name: string, { value, failure }: Observation) {
    const tally = tallyOf(name)
    tally.count++
    if (failure !== null) tally[failure]++
    if (value !== null) addValue(tally.times, value)
  }

  function tallyOf(name: string): Running {
    const known = running.get(name)
    if (known !== undefined) return known
    const tally = newTally()
    running.set(name, tally)
    return tally
  }

  async function flush() {
    const taken = running
    const latest = { minutes: 1, tallies: Object.fromEntries([...taken].map(stored)) }
    running = new Map()
    await put(latest).catch((error) => {
      addBack(taken)
      throw error
    })
  }

  /** So that a minute in which the database could not be written is counted later. */
  function addBack(taken: Map<string, Running>) {
    for (const [name, { count, soft, hard, times }] of taken) {
      const tally = tallyOf(name)
      tally.count += count
      tally.soft += soft
      tally.hard += hard
      addBuckets(tally.times, listBuckets(times))
    }
  }

  async function put(latest: TallySet) {
    const minute = now().getTime() - MINUTE_MS
    await store.write(async (tx) => {
      for (const { span, ms } of [FINE, COARSE]) {
        const at = new Date(Math.floor(minute / ms) * ms)
        const stored = await store.find(tx, span, at, instance)
        const values = stored === null ? latest : mergeTallies([stored, latest])
        await store.put(tx, span, { at, instance, values })
      }
    })
  }

  /** The figures by name over the last `hours` of all instances, and the time since which they are counted. */
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

/** The counts of a tally, and its quantiles in the unit of its times. */
export function computeFigures({ times, ...counts }: Tally) {
  return { ...counts, p50: computeQuantile(times, 0.5), p99: computeQuantile(times, 0.99) }
}

export function mergeTallies(list: TallySet[]): TallySet {
  const sums = new Map<string, Running>()
  let minutes = 0
  for (const set of list) {
    minutes += set.minutes
    for (const [name, { count, soft, hard, times }] of Object.entries(set.tallies)) {
      const sum = sums.get(name) ?? newTally()
      sum.count += count
      sum.soft += soft
      sum.hard += hard
      addBuckets(sum.times, times)
      sums.set(name, sum)
    }
  }
  return { minutes, tallies: Object.fromEntries([...sums].map(stored)) }
}

function newTally(): Running {
  return { count: 0, soft: 0, hard: 0, times: createHistogram() }
}

function stored([name, { times, ...counts }]: [string, Running]): [string, Tally] {
  return [name, { ...counts, times: listBuckets(times) }]
}
