import { expect, test } from 'bun:test'
import { growthWithout, type Measure, share } from '../../../src/platform/conditions/measure.ts'
import { createMeasurements } from '../../../src/platform/conditions/measurements.ts'

const MINUTE = 60_000
const GOOD = { outcome: 'good' }
const BAD = { outcome: 'bad' }

/** Reads a measure once a minute while counters grow. Returns the last value. */
async function readEachMinute({ read }: Measure, growth: { good?: number; bad?: number }[]) {
  const counts = { good: 0, bad: 0 }
  let now = 0
  const readMetric = async () =>
    Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value }))
  const measurements = createMeasurements(readMetric, () => new Date(now))
  await read(measurements, new Date(now))
  let last: number | null = null
  for (const { good = 0, bad = 0 } of growth) {
    counts.good += good
    counts.bad += bad
    now += MINUTE
    last = await read(measurements, new Date(now))
  }
  return last
}

test('failures count in full once no success is left in the window', async () => {
  const measure = growthWithout('homeport_attempts_total', 3, BAD, GOOD)
  // Readings are kept for two hours.
  const hours = Array.from({ length: 130 }, () => ({ good: 1 }))
  const growth = [...hours, { bad: 5 }, { bad: 5 }]
  expect(await readEachMinute(measure, growth)).toBe(0)
  expect(await readEachMinute(measure, [...growth, { bad: 5 }])).toBe(15)
})

test('the first errors after a quiet start are part of the share', async () => {
  const measure = share('homeport_replies_total', 5, BAD)
  expect(await readEachMinute(measure, [{}, {}])).toBeNull()
  expect(await readEachMinute(measure, [{}, { good: 1, bad: 3 }])).toBe(75)
})
