import { and, asc, desc, eq, gte, lt, lte } from 'drizzle-orm'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/durations.ts'
import type { HistoryDb, Sample } from './schema.ts'

type RecorderDeps = {
  db: HistoryDb
  /** The number of committed changes since the start. */
  countWrites: () => number
  instance: string
  now: () => Date
}

type ObservedRequest = { seconds: number; status: number; isEvent: boolean }

export type Recorder = ReturnType<typeof createRecorder>

const RETENTION_MS = { minute: DAY_MS, hour: 30 * DAY_MS }
/** Four buckets per doubling, from 0.1 ms to half an hour. */
const BUCKETS = 96
const MIN_MS = 0.1

/** Counts requests in memory and stores samples: per minute for a day, per hour for 30 days. */
export function createRecorder({ db, countWrites, instance, now }: RecorderDeps) {
  const { samples } = db.tables
  const times = new Uint32Array(BUCKETS)
  let counts = { requests: 0, errors: 0, events: 0 }
  let writes = countWrites()
  let lastHour = 0
  return { observe, sumLastMinutes, list, newestAt, flush }

  function observe({ seconds, status, isEvent }: ObservedRequest) {
    counts.requests++
    if (status >= 500) counts.errors++
    if (isEvent) counts.events++
    const at = bucketOf(seconds * 1000)
    times[at] = (times[at] ?? 0) + 1
  }

  /** Stores a sample of the last minute, and of the last hour once it has ended. */
  async function flush() {
    const sample = takeSample()
    const minute = startOf(now(), MINUTE_MS) - MINUTE_MS
    await db.write(async (tx) => {
      const values = { span: 'minute', at: new Date(minute), instance, values: sample }
      await tx.insert(samples).values(values).onConflictDoNothing()
    })
    const hour = startOf(now(), HOUR_MS) - HOUR_MS
    if (hour > lastHour) await flushHour(hour)
    lastHour = hour
  }

  async function flushHour(from: number) {
    const at = new Date(from)
    const own = await db.read
      .select({ values: samples.values })
      .from(samples)
      .where(
        and(
          eq(samples.span, 'minute'),
          gte(samples.at, at),
          lt(samples.at, new Date(from + HOUR_MS)),
          eq(samples.instance, instance),
        ),
      )
    if (own.length === 0) return
    const values = mergeSamples(own.map((row) => row.values))
    await db.write(async (tx) => {
      await tx
        .insert(samples)
        .values({ span: 'hour', at, instance, values })
        .onConflictDoUpdate({
          target: [samples.span, samples.at, samples.instance],
          set: { values },
        })
      for (const [span, retention] of Object.entries(RETENTION_MS)) {
        const oldest = new Date(now().getTime() - retention)
        await tx.delete(samples).where(and(eq(samples.span, span), lt(samples.at, oldest)))
      }
    })
  }

  /** Samples of the last `hours` across all instances: per minute for up to a day, else per hour. */
  async function list(hours: number): Promise<(Sample & { at: string })[]> {
    const span = hours <= 24 ? 'minute' : 'hour'
    const since = new Date(now().getTime() - hours * HOUR_MS)
    const rows = await db.read
      .select()
      .from(samples)
      .where(and(eq(samples.span, span), gte(samples.at, since)))
      .orderBy(asc(samples.at))
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

  /** The totals of the last `count` minutes. */
  async function sumLastMinutes(count: number) {
    const samplesInRange = await list(count / 60)
    const sum = (name: 'requests' | 'errors' | 'events') =>
      samplesInRange.reduce((total, sample) => total + sample[name], 0)
    return {
      minutes: count,
      requests: sum('requests'),
      errors: sum('errors'),
      events: sum('events'),
    }
  }

  function takeSample(): Sample {
    const before = writes
    writes = countWrites()
    const sample = {
      ...counts,
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      writes: writes - before,
      memory: process.memoryUsage.rss(),
    }
    counts = { requests: 0, errors: 0, events: 0 }
    times.fill(0)
    return sample
  }
}

function bucketOf(ms: number): number {
  if (ms <= MIN_MS) return 0
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / MIN_MS) * 4))
}

/** The upper bound of a quantile's bucket, in ms; 0 without requests. */
function quantile(times: Uint32Array, share: number): number {
  const total = times.reduce((sum, count) => sum + count, 0)
  let seen = 0
  for (const [at, count] of times.entries()) {
    seen += count
    if (count > 0 && seen >= total * share) return Math.round(MIN_MS * 2 ** (at / 4) * 100) / 100
  }
  return 0
}

/** Merges consecutive samples: keeps the slowest response times and the highest memory use. */
function mergeSamples(list: Sample[]): Sample {
  return list.reduce(
    (sum, one) => ({
      requests: sum.requests + one.requests,
      errors: sum.errors + one.errors,
      events: sum.events + one.events,
      writes: sum.writes + one.writes,
      p50: Math.max(sum.p50, one.p50),
      p99: Math.max(sum.p99, one.p99),
      memory: Math.max(sum.memory, one.memory),
    }),
    { requests: 0, errors: 0, p50: 0, p99: 0, events: 0, writes: 0, memory: 0 },
  )
}

/** Merges simultaneous samples of several instances: like consecutive ones, but memory adds up. */
function mergeInstances(list: Sample[]): Sample {
  return { ...mergeSamples(list), memory: list.reduce((sum, { memory }) => sum + memory, 0) }
}

function startOf(time: Date, ms: number): number {
  return Math.floor(time.getTime() / ms) * ms
}
