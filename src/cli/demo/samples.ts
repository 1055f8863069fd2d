import { chunk } from '../../lib/concurrency/chunk.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import {
  addValue,
  computeQuantile,
  createHistogram,
  listBuckets,
} from '../../platform/metrics/histogram.ts'
import type { Sample, Tally, TallySet } from '../../platform/metrics/schema.ts'
import type { Services } from '../../server/services.ts'
import { createRandom, type Random } from './random.ts'

/** Each with its share of the requests and its usual response time in ms. */
const ENDPOINTS: [name: string, share: number, ms: number][] = [
  ['GET /api/user/app_settings/v1', 0.28, 0.7],
  ['GET /api/user/profile/v1', 0.22, 0.9],
  ['GET /api/user/subscription/v1', 0.2, 1.4],
  ['POST /api/auth/refresh/v1', 0.12, 3],
  ['GET /api/user/data/v1', 0.1, 0.9],
  ['PUT /api/user/data/v1', 0.05, 6],
  ['POST /api/user/attachments/v1', 0.02, 120],
  ['POST /api/auth/login/v1', 0.01, 70],
]
/** More than a week, because the console compares a period with the one before it. */
const HOURS = 15 * 24
const MINUTES = 2 * 24 * 60
const REQUESTS_PER_MINUTE = 14
const ROWS_PER_CHANGE = 500
const TIMES_PER_SAMPLE = 20

/** Each with its length in minutes, how many are added, and what creates its values. */
const SPANS = [
  ['hour', 60, HOURS, createSample],
  ['minute', 1, MINUTES, createSample],
  ['tallies 1h', 60, HOURS / 2, createTallies],
  ['tallies 5m', 5, 24 * 12, createTallies],
] as const

/** Adds two weeks of traffic: more in the evening than at night, and a little more each day. */
export async function addSamples({ db, config, now }: Services) {
  const random = createRandom(7)
  const instance = config.instance ?? ''
  const at = now().getTime()
  const rows = SPANS.flatMap(([span, minutes, count, create]) =>
    timesBefore(at, minutes * MINUTE_MS, count).map((from) => {
      return { span, at: from, values: create(trafficAt(from, at) * minutes, minutes, random) }
    }),
  )
  const { samples } = db.tables
  for (const part of chunk(rows, ROWS_PER_CHANGE)) {
    const values = part.map((row) => ({ ...row, at: new Date(row.at), instance }))
    await db.write(async (tx) => void (await tx.insert(samples).values(values)))
  }
}

/** The starts of the last complete spans, the earliest first. */
function timesBefore(now: number, ms: number, count: number): number[] {
  const end = Math.floor(now / ms) * ms
  return Array.from({ length: count }, (_, index) => end - (count - index) * ms)
}

/** Requests per minute. */
function trafficAt(time: number, now: number): number {
  const hour = (time % DAY_MS) / HOUR_MS
  const daily = 1 + 0.7 * Math.sin(((hour - 12) / 24) * 2 * Math.PI)
  return REQUESTS_PER_MINUTE * daily * (1 - (now - time) / (60 * DAY_MS))
}

function createSample(expected: number, minutes: number, random: Random): Sample {
  const requests = Math.round(expected * random.between(0.8, 1.2))
  const times = createTimes(Math.min(requests, TIMES_PER_SAMPLE), 1.2, random)
  return {
    requests,
    errors: random.chance(0.001) ? 1 : 0,
    p50: computeQuantile(times, 0.5),
    p99: computeQuantile(times, 0.99),
    events: random.chance(0.03 * minutes) ? 1 : 0,
    writes: Math.round(requests * 0.3),
    memory: Math.round(random.between(150, 175)) * 1024 * 1024,
    times,
    ...(minutes > 1 && { minutes }),
  }
}

function createTallies(expected: number, minutes: number, random: Random): TallySet {
  const tallies = ENDPOINTS.map(([name, share, ms]): [string, Tally] => {
    const count = Math.round(expected * share * random.between(0.7, 1.3))
    const times = createTimes(count, ms, random)
    return [name, { count, soft: random.chance(0.05) ? 1 : 0, hard: 0, times }]
  })
  return { minutes, tallies: Object.fromEntries(tallies.filter(([, { count }]) => count > 0)) }
}

/** Response times: most near `ms`, a few much longer. */
function createTimes(count: number, ms: number, random: Random) {
  const histogram = createHistogram()
  for (let at = 0; at < count; at++)
    addValue(
      histogram,
      ms * (random.chance(0.03) ? random.between(3, 9) : random.between(0.6, 1.7)),
    )
  return listBuckets(histogram)
}
