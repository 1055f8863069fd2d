import { desc, gt, lte } from 'drizzle-orm'
import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import { createCharts } from './charts.ts'
import { computeQuantile, mergeBuckets } from './histogram.ts'
import type { Registry } from './registry.ts'
import { mergeConsecutive, mergeInstances } from './sample.ts'
import type { HistoryDb, Sample, Tally, TallySet } from './schema.ts'
import { createHistoryStore, RETENTION_MS } from './store.ts'
import { createTallies, isRequest, mergeTallies } from './tallies.ts'

type RecorderDeps = {
  db: HistoryDb
  registry: Pick<Registry, 'takeTallies'>
  eventRoute: string
  /** The number of committed changes since the start. */
  countWrites: () => number
  instance: string
  version: string
  /** When the server started; null for a command that runs without a server. */
  servingSince: Date | null
  now: () => Date
}

export type Recorder = ReturnType<typeof createRecorder>

const NOTHING: TallySet = { minutes: 0, tallies: {} }

/** Stores what was counted in each minute: as samples per minute for 9 days, per hour for 38 days. */
export function createRecorder(deps: RecorderDeps) {
  const { db, registry, eventRoute, countWrites, instance, version, servingSince, now } = deps
  const { samples } = db.tables
  const store = createHistoryStore(db)
  const tallies = createTallies({ store, instance, now })
  let waiting = NOTHING
  let writes = countWrites()
  let lastHour = 0
  let isStartStored = servingSince === null
  const charts = createCharts({ store, now })
  return { tallies, charts, sumLastMinutes, list, newestAt, wasClockAhead, flush }

  /** A minute that could not be written to the database is counted in the next one. */
  async function flush() {
    waiting = { ...mergeTallies([waiting, registry.takeTallies()]), minutes: 1 }
    const writesNow = countWrites()
    const values = toSample(waiting, writesNow - writes)
    const at = new Date(toStart(now(), MINUTE_MS) - MINUTE_MS)
    await db.write(async (tx) => {
      await tx
        .insert(samples)
        .values({ span: 'minute', at, instance, values })
        .onConflictDoNothing()
      await tallies.add(tx, waiting)
      if (servingSince !== null && !isStartStored)
        await store.put(tx, 'start', { at: servingSince, instance, values: { version } })
    })
    waiting = NOTHING
    writes = writesNow
    isStartStored = true
    const hour = toStart(now(), HOUR_MS) - HOUR_MS
    if (hour > lastHour) {
      for (let from = await firstMissingHour(hour); from <= hour; from += HOUR_MS)
        await flushHour(from)
    }
    lastHour = hour
  }

  function toSample({ tallies }: TallySet, writes: number): Sample {
    const requests = Object.entries(tallies).filter(([name]) => isRequest(name))
    const sum = (selectCount: (tally: Tally, name: string) => number) =>
      requests.reduce((total, [name, tally]) => total + selectCount(tally, name), 0)
    const times = mergeBuckets(requests.map(([, tally]) => tally.times))
    return {
      requests: sum(({ count }) => count),
      errors: sum(({ hard }) => hard),
      events: sum(({ count }, name) => (name.endsWith(` ${eventRoute}`) ? count : 0)),
      p50: computeQuantile(times, 0.5),
      p99: computeQuantile(times, 0.99),
      times,
      writes,
      memory: process.memoryUsage.rss(),
    }
  }

  /** The first hour without a sample up to `last`: the server or the database may have been down when an hour ended. */
  async function firstMissingHour(last: number): Promise<number> {
    if (lastHour === last - HOUR_MS) return last
    const rows = await store.read('hour', last - RETENTION_MS.minute, last)
    const newest = rows.findLast((row) => row.instance === instance)
    return newest ? newest.at.getTime() + HOUR_MS : last
  }

  /** Sums the hour that began at `from`, for this instance and those that were replaced before the hour ended. */
  async function flushHour(from: number) {
    const stored = await store.read('hour', from, from + HOUR_MS)
    const isMissing = (name: string) =>
      name === instance || stored.every((row) => row.instance !== name)
    const minutes = await store.read('minute', from, from + HOUR_MS)
    const missing = Map.groupBy(
      minutes.filter((row) => isMissing(row.instance)),
      (row) => row.instance,
    )
    if (missing.size === 0) return
    await db.write(async (tx) => {
      for (const [name, rows] of missing) {
        const values = mergeConsecutive(rows.map((row) => row.values))
        await store.put(tx, 'hour', { at: new Date(from), instance: name, values })
      }
      await store.deleteOld(tx, now().getTime())
    })
  }

  /** The samples of the last `count` minutes, each merged across all instances. */
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

  async function sumLastMinutes(count: number) {
    const { requests, errors, events } = mergeConsecutive(await list(count))
    return { minutes: count, requests, errors, events }
  }
}

function toStart(time: Date, ms: number): number {
  return Math.floor(time.getTime() / ms) * ms
}
