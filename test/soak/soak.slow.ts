import { beforeAll, expect, test } from 'bun:test'
import { isOnPostgres } from '../support/databases.ts'
import { buildExecutable } from '../support/executable.ts'
import { report } from './report.ts'
import { runSoak } from './run.ts'
import { type Sample, slopeOf } from './slopes.ts'

beforeAll(buildExecutable, 300_000)

test.skipIf(isOnPostgres)(
  'a few seconds of load and a kill lose no acknowledged writes',
  async () => {
    const outcome = await runSoak({
      engine: 'sqlite',
      minutes: 0.06,
      rate: 40,
      users: 8,
      pause: 1_200,
      signal: AbortSignal.timeout(20_000),
      only: ['kill -9'],
      logProgress: () => {},
    })
    expect(outcome.problems).toEqual([])
    expect(outcome.isClean).toBe(true)
    expect(outcome.faultResults.map(({ name }) => name)).toContain('kill -9')
    expect(outcome.comparisons.events.acknowledged).toBeGreaterThan(10)
    expect(outcome.comparisons.webhooks.acknowledged).toBeGreaterThan(8)
    expect(report(outcome)).toContain('The ledger is clean.')
  },
  60_000,
)

test('the slope is measured within each process, with a standard error', () => {
  const samples = [0, 1].flatMap((generation) =>
    Array.from({ length: 240 }, (_, at) => sampleOf(generation, at / 12)),
  )
  const slope = slopeOf(samples, ({ memory }) => memory, 5)
  expect(slope?.perHour).toBeCloseTo(6, 0)
  expect(slope?.error).toBeLessThan(0.5)
})

test('a new process has no slope', () => {
  const samples = Array.from({ length: 48 }, (_, at) => sampleOf(0, at / 12))
  expect(slopeOf(samples, ({ memory }) => memory, 5)).toBeNull()
})

/** Grows by 6 per hour with some noise, and starts higher in the second process. */
function sampleOf(generation: number, age: number): Sample {
  const memory = 100 + 50 * generation + age / 10 + Math.sin(age * 50) / 10
  return { generation, age, minute: generation * 20 + age, memory, descriptors: 30 }
}
