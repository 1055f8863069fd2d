import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import { mergeConsecutive, mergeInstances } from './sample.ts'
import type { Sample, Span, Tally, TallySet, ValuesOf } from './schema.ts'
import type { HistoryStore } from './store.ts'
import { COARSE, computeFigures, FINE, mergeTallies } from './tallies.ts'

type ChartsDeps = { store: Pick<HistoryStore, 'read'>; now: () => Date }

/** Earlier periods to compare with. */
const EARLIER_MS = { day: DAY_MS, week: 7 * DAY_MS }
type Earlier = keyof typeof EARLIER_MS
type Period = { hours: number; earlier: Earlier[] }

/** One point per step; null where nothing was recorded. */
export type Steps<Point> = {
  /** The time of the first step, in ms since 1970. */
  from: number
  stepMs: number
  current: (Point | null)[]
  /** The same steps a day or a week earlier. */
  earlier: Partial<Record<Earlier, (Point | null)[]>>
}

/** Counts are per minute, response times in ms, memory in bytes. */
export type TrafficPoint = ReturnType<typeof toTrafficPoint>
/** Counts are per minute, response times in ms. */
export type EndpointPoint = ReturnType<typeof toEndpointPoint>

/** Merges stored values into points: first across instances, then across each step. */
type Merging<S extends Span, Point> = {
  simultaneous: (values: ValuesOf<S>[]) => ValuesOf<S>
  consecutive: (values: ValuesOf<S>[]) => ValuesOf<S>
  toPoint: (merged: ValuesOf<S>) => Point
}

/** The longest span of each step, so that a chart has at most 168 points. */
const STEPS: [hours: number, stepMs: number][] = [
  [1, MINUTE_MS],
  [6, 5 * MINUTE_MS],
  [24, 15 * MINUTE_MS],
  [168, HOUR_MS],
]
const LONGEST_STEP_MS = 6 * HOUR_MS
const MAX_STARTS = 20
/** Without requests there are no response times. */
const NO_TIMES = { p50: null, p99: null }
const NO_TALLY: Tally = { count: 0, soft: 0, hard: 0, times: [] }

/** The history in steps that a chart can draw. */
export function createCharts({ store, now }: ChartsDeps) {
  return { traffic, endpoint, starts }

  function traffic(period: Period): Promise<Steps<TrafficPoint>> {
    const stepMs = chooseStep(period.hours)
    const [span, minutes] = stepMs < HOUR_MS ? (['minute', 1] as const) : (['hour', 60] as const)
    return readSteps(period, stepMs, span, {
      simultaneous: (values) => mergeInstances(values, minutes),
      consecutive: mergeConsecutive,
      toPoint: toTrafficPoint,
    })
  }

  /** The requests to the endpoint `name`, such as `GET /health`. */
  function endpoint(name: string, period: Period): Promise<Steps<EndpointPoint>> {
    const stepMs = Math.max(chooseStep(period.hours), FINE.ms)
    const selectTally = ({ minutes, tallies: { [name]: tally } }: TallySet) => {
      return { minutes, tallies: tally ? { [name]: tally } : {} }
    }
    return readSteps(period, stepMs, stepMs < COARSE.ms ? FINE.span : COARSE.span, {
      simultaneous: (values) => {
        const minutes = Math.max(...values.map((one) => one.minutes))
        const [first] = values
        if (first && values.length === 1) return selectTally(first)
        return { ...mergeTallies(values.map(selectTally)), minutes }
      },
      consecutive: mergeTallies,
      toPoint: (merged) => toEndpointPoint(merged, name),
    })
  }

  /** The last starts of the server in the last `hours`; `before` is the version that ran before, if it differs. */
  async function starts(hours: number) {
    const until = now().getTime()
    const rows = await store.read('start', 0, until)
    const all = rows.map(({ at, instance, values: { version } }, index) => {
      const last = rows.slice(0, index).findLast((one) => one.instance === instance)
      const before = last && last.values.version !== version ? last.values.version : null
      return { at: at.toISOString(), instance, version, before }
    })
    return all.filter(({ at }) => Date.parse(at) > until - hours * HOUR_MS).slice(-MAX_STARTS)
  }

  async function readSteps<S extends Span, Point>(
    { hours, earlier }: Period,
    stepMs: number,
    span: S,
    merging: Merging<S, Point>,
  ): Promise<Steps<Point>> {
    const until = now().getTime()
    const from = Math.floor((until - hours * HOUR_MS) / stepMs) * stepMs
    const count = Math.ceil((until - from) / stepMs)
    const compared: Steps<Point>['earlier'] = {}
    for (const name of earlier) compared[name] = await readPoints(from - EARLIER_MS[name])
    return { from, stepMs, current: await readPoints(from), earlier: compared }

    async function readPoints(start: number): Promise<(Point | null)[]> {
      const end = Math.min(start + count * stepMs, until)
      const rows = await store.read(span, start, end)
      const byTime = Map.groupBy(rows, ({ at }) => at.getTime())
      const steps = Map.groupBy(byTime, ([at]) => Math.floor((at - start) / stepMs))
      return Array.from({ length: count }, (_, step) => {
        const times = steps.get(step)
        if (times === undefined) return null
        const merged = times.map(([, group]) =>
          merging.simultaneous(group.map(({ values }) => values)),
        )
        return merging.toPoint(merging.consecutive(merged))
      })
    }
  }
}

function chooseStep(hours: number): number {
  return STEPS.find(([longest]) => hours <= longest)?.[1] ?? LONGEST_STEP_MS
}

function toTrafficPoint({ minutes = 1, times: _, ...sample }: Sample) {
  const { requests, errors, events, writes, p50, p99 } = sample
  return {
    ...sample,
    ...(requests === 0 ? NO_TIMES : { p50, p99 }),
    requests: rate(requests, minutes),
    errors: rate(errors, minutes),
    events: rate(events, minutes),
    writes: rate(writes, minutes),
  }
}

function toEndpointPoint({ minutes, tallies }: TallySet, name: string) {
  const { count, soft, hard, p50, p99 } = computeFigures(tallies[name] ?? NO_TALLY)
  return {
    requests: rate(count, minutes),
    refused: rate(soft, minutes),
    errors: rate(hard, minutes),
    ...(count === 0 ? NO_TIMES : { p50, p99 }),
  }
}

function rate(count: number, minutes: number): number {
  return Math.round((count / Math.max(1, minutes)) * 1000) / 1000
}
