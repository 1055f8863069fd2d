import { desc, gt, lte } from 'drizzle-orm'
import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import { createCharts } from './charts.ts'
import { addBuckets, addValue, computeQuantile, createHistogram, listBuckets } from './histogram.ts'
import { mergeConsecutive, mergeInstances } from './sample.ts'
import type { HistoryDb, Sample } from './schema.ts'
import { createHistoryStore, RETENTION_MS } from './store.ts'
import { createTallies } from './tallies.ts'

type RecorderDeps = {
  db: HistoryDb
  /** The number of committed changes since the start. */
  countWrites: () => number
  instance: string
  version: string
  /** When the server started; null for a command that runs without one. */
  servingSince: Date | null
  now: () => Date
}

/** `name` is the method and the route pattern, or the pattern only for unknown paths. */
type ObservedRequest = { name: string; seconds: number; status: number; isEvent: boolean }

export type Recorder = ReturnType<typeof createRecorder>

/** Counts requests in memory and stores samples: per minute for 9 days, per hour for 38 days. */
export function createRecorder(deps: RecorderDeps) {
  const { db, countWrites, instance, version, servingSince, now } = deps
  const { samples } = db.tables
  const store = createHistoryStore(db)
  const tallies = createTallies({ store, instance, now })
  const times = createHistogram()
  let counts = { requests: 0, errors: 0, events: 0 }
  let writes = countWrites()
  let lastHour = 0
  let isStartStored = servingSince === null
  const charts = createCharts({ store, now })
  return { observe, tallies, charts, sumLastMinutes, list, newestAt, wasClockAhead, flush }

  function observe({ name, seconds, status, isEvent }: ObservedRequest) {
    const ms = seconds * 1000
    counts.requests++
    if (status >= 500) counts.errors++
    if (isEvent) counts.events++
    addValue(times, ms)
    const failure = status >= 500 ? 'hard' : status >= 400 ? 'soft' : null
    tallies.observe(name, { value: ms, failure })
  }

  /** Stores a sample of the last minute, and of the last hour once it has ended. */
  async function flush() {
    const values = takeSample()
    const at = new Date(startOf(now(), MINUTE_MS) - MINUTE_MS)
    const put = db.write(async (tx) => {
      await tx
        .insert(samples)
        .values({ span: 'minute', at, instance, values })
        .onConflictDoNothing()
      if (servingSince !== null && !isStartStored)
        await store.put(tx, 'start', { at: servingSince, instance, values: { version } })
    })
    await put.catch((error) => {
      addBack(values)
      throw error
    })
    isStartStored = true
    await tallies.flush()
    const hour = startOf(now(), HOUR_MS) - HOUR_MS
    if (hour > lastHour) {
      for (let from = await firstMissingHour(hour); from <= hour; from += HOUR_MS)
        await flushHour(from)
    }
    lastHour = hour
  }

  /** The first hour without a sample up to `last`: the server or the database may have been down when one ended. */
  async function firstMissingHour(last: number): Promise<number> {
    if (lastHour === last - HOUR_MS) return last
    const rows = await store.read('hour', last - RETENTION_MS.minute, last)
    const newest = rows.findLast((row) => row.instance === instance)
    return newest ? newest.at.getTime() + HOUR_MS : last
  }

  /** Sums the hour that began at `from`: its own, and those of instances that were replaced before it ended. */
  async function flushHour(from: number) {
    const stored = await store.read('hour', from, from + HOUR_MS)
    const isMissing = (of: string) => of === instance || stored.every((row) => row.instance !== of)
    const minutes = await store.read('minute', from, from + HOUR_MS)
    const missing = Map.groupBy(
      minutes.filter((row) => isMissing(row.instance)),
      (row) => row.instance,
    )
    if (missing.size === 0) return
    await db.write(async (tx) => {
      for (const [of, rows] of missing) {
        const values = mergeConsecutive(rows.map((row) => row.values))
        await store.put(tx, 'hour', { at: new Date(from), instance: of, values })
      }
      await store.deleteOld(tx, now().getTime())
    })
  }

  /** The samples of each of the last `count` minutes, across all instances. */
  async function list(count: number): Promise<(Sample & { at: string })[]> {
    const until = now().getTime()
    const rows = await store.read('minute', until - count * MINUTE_MS, until)
    const byTime = Map.groupBy(rows, ({ at }) => at.getTime())
    return [...byTime].map(([at, group]) => {
      return {
        at: new Date(at).toISOString(),
        ...mergeInstances(group.map(({ values }) => values)),
      }
    })
  }

  /** The time of the newest sample. Samples in the future are from a wrong clock and do not count. */
  async function newestAt(): Promise<Date | null> {
    const [newest] = await db.read
      .select({ at: samples.at })
      .from(samples)
      .where(lte(samples.at, now()))
      .orderBy(desc(samples.at))
      .limit(1)
    return newest?.at ?? null
  }

  /** Whether a sample is from a clock that was ahead. */
  async function wasClockAhead(): Promise<boolean> {
    const soon = new Date(now().getTime() + 2 * MINUTE_MS)
    return (await db.read.$count(samples, gt(samples.at, soon))) > 0
  }

  /** The totals of the last `count` minutes. */
  async function sumLastMinutes(count: number) {
    const { requests, errors, events } = mergeConsecutive(await list(count))
    return { minutes: count, requests, errors, events }
  }

  /** So that a minute in which the database could not be written is counted in the next one. */
  function addBack({ requests, errors, events, times: buckets = [], writes: count }: Sample) {
    counts.requests += requests
    counts.errors += errors
    counts.events += events
    writes -= count
    addBuckets(times, buckets)
  }

  function takeSample(): Sample {
    const before = writes
    writes = countWrites()
    const buckets = listBuckets(times)
    const sample = {
      ...counts,
      p50: computeQuantile(buckets, 0.5),
      p99: computeQuantile(buckets, 0.99),
      times: buckets,
      writes: writes - before,
      memory: process.memoryUsage.rss(),
    }
    counts = { requests: 0, errors: 0, events: 0 }
    times.fill(0)
    return sample
  }
}

function startOf(time: Date, ms: number): number {
  return Math.floor(time.getTime() / ms) * ms
}
