import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { MetricValue } from '../metrics/metrics.ts'

/** The current values of a metric of `/metrics`; empty if it has none. */
export type ReadMetric = (name: string) => Promise<MetricValue[]>

/** Label patterns in the style of Prometheus: `ok|duplicate`, or `!ok|duplicate` for all others. */
export type Labels = Record<string, string>

export type Measurements = ReturnType<typeof createMeasurements>

type Reading = { at: number; total: number }

const MAX_WINDOW_MS = 2 * 60 * MINUTE_MS

/** Measures this process. Keeps counter readings in memory, so read each counter every minute from the start. */
export function createMeasurements(readMetric: ReadMetric, now: () => Date) {
  const readings = new Map<string, Reading[]>()
  return { highest: pick(Math.max), lowest: pick(Math.min), increase, lastIncrease }

  /** Reads the highest or lowest current value; null if there is none. */
  function pick(choose: typeof Math.max) {
    return async (name: string, labels: Labels = {}): Promise<number | null> => {
      const values = await findValues(name, labels)
      return values.length === 0 ? null : choose(...values)
    }
  }

  /** How much a counter has grown in the last minutes, or since it was first read. `part`: a part of a histogram. */
  async function increase(name: string, minutes: number, labels: Labels = {}, part?: string) {
    const at = now().getTime()
    const total = (await findValues(name, labels, part)).reduce((sum, value) => sum + value, 0)
    const key = buildKey(name, labels, part)
    const kept = (readings.get(key) ?? []).filter((one) => at - one.at <= MAX_WINDOW_MS)
    kept.push({ at, total })
    readings.set(key, kept)
    const since = at - minutes * MINUTE_MS
    const before = kept.findLast((one) => one.at <= since) ?? kept[0]
    return total - (before?.total ?? total)
  }

  /** When a counter last grew in the last two hours, in ms; 0 if it did not. */
  async function lastIncrease(name: string, labels: Labels) {
    if ((await increase(name, MAX_WINDOW_MS / MINUTE_MS, labels)) === 0) return 0
    const kept = readings.get(buildKey(name, labels)) ?? []
    return kept.find(({ total }) => total === kept.at(-1)?.total)?.at ?? 0
  }

  async function findValues(name: string, labels: Labels, part?: string): Promise<number[]> {
    const values = await readMetric(name)
    const matchers = Object.entries(labels).map(([label, text]) => {
      const isExcluding = text.startsWith('!')
      const pattern = new RegExp(`^(?:${isExcluding ? text.slice(1) : text})$`)
      return (one: MetricValue) => pattern.test(String(one.labels[label] ?? '')) !== isExcluding
    })
    return values.flatMap((one) =>
      one.part === part && matchers.every((matches) => matches(one)) ? [one.value] : [],
    )
  }
}

function buildKey(name: string, labels: Labels, part?: string): string {
  return JSON.stringify([name, labels, part])
}
