import { expect, test } from 'bun:test'
import { createLog } from '../../../src/lib/log/log.ts'
import { type JobRun, startJobs } from '../../../src/platform/jobs/jobs.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { until } from '../../support/until.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

test('started with a clock months ahead, deletes no guest and records no time', async () => {
  await using app = await createTestApp()
  const { db, recorder } = app.services
  await app.ask('POST', '/api/auth/guest/v1')
  await recorder.flush()
  const known = await recorder.newestAt()
  expect(await startAtNight(app)).not.toContain('idle guests')
  expect(await db.read.$count(db.tables.users)).toBe(1)
  expect(await recorder.newestAt()).toEqual(known)
})

test('started in the night of the last recorded time, deletes guests', async () => {
  await using app = await createTestApp()
  const { db, recorder } = app.services
  await app.ask('POST', '/api/auth/guest/v1')
  app.clock.now = nightIn(120)
  await recorder.flush()
  expect(await startAtNight(app)).toContain('idle guests')
  expect(await db.read.$count(db.tables.users)).toBe(0)
})

test("an instance whose clock differs from the database's deletes nothing by age", async () => {
  await using app = await createTestApp()
  app.clock.now = nightIn(120)
  await app.services.recorder.flush()
  for (const seconds of [1_137, -1_137]) {
    const claimed = await startAtNight(app, seconds * 1000)
    expect(claimed).not.toContain('sealed requests')
    expect(claimed).not.toContain('idle guests')
  }
  expect(await startAtNight(app, 2_000)).toContain('idle guests')
})

test('ignores recorded times in the future', async () => {
  await using app = await createTestApp()
  const { recorder } = app.services
  // In the first minute of an hour, a flush also deletes what is old by that clock.
  app.clock.now.setUTCMinutes(30)
  await recorder.flush()
  const known = await recorder.newestAt()
  app.clock.advance(300 * DAY)
  await recorder.flush()
  app.clock.advance(-300 * DAY)
  expect(await recorder.newestAt()).toEqual(known)
  expect(await recorder.wasClockAhead()).toBe(true)
})

test('a job is claimed for the time of the shared clock', async () => {
  const claimed: Date[] = []
  const stop = startJobs(
    [{ name: 'job', schedule: [], run: async () => {}, isDueAtStart: async () => true }],
    {
      log: createLog('silent'),
      claim: async (_name, slot) => claimed.push(slot) > 0,
      runs: new Map(),
      readLastKnown: async () => null,
      readSkew: async () => 50 * MINUTE,
    },
  )
  await until(() => claimed.length > 0, 'the job is not claimed')
  await stop()
  const [slot = new Date(0)] = claimed
  expect(Math.abs(Date.now() - 50 * MINUTE - slot.getTime())).toBeLessThan(2 * MINUTE)
})

test('instances whose clocks differ slightly claim the same minute for a scheduled run', async () => {
  const claimed: number[] = []
  for (const skew of [-40_000, -400, 0, 400]) {
    let began = Number.POSITIVE_INFINITY
    // Shortly before the minute, by the instance's own clock, until the jobs wait for it.
    const wall = () =>
      Date.UTC(2026, 0, 1, 11, 59, 59, 300) + Math.max(0, performance.now() - began)
    const stop = startJobs([{ name: 'job', schedule: ['0 * * * *'], run: async () => {} }], {
      log: createLog('silent'),
      claim: async (_name, slot) => claimed.push(slot.getTime()) > 0,
      runs: new Map(),
      readLastKnown: async () => {
        setImmediate(() => {
          began = performance.now()
        })
        return null
      },
      readSkew: async () => skew,
      clocks: { wall, steady: () => performance.now() },
    })
    const before = claimed.length
    await until(() => claimed.length > before, 'the job is not claimed')
    await stop()
  }
  expect(new Set(claimed)).toEqual(new Set([Date.UTC(2026, 0, 1, 12)]))
})

/** Runs the jobs that are due when a server starts in 120 days, and returns those it claimed. */
async function startAtNight(app: TestApp, skew: number | null = null): Promise<string[]> {
  const { recorder } = app.services
  const claimed: string[] = []
  const runs = new Map<string, JobRun | null>()
  app.clock.now = nightIn(120)
  let wall = app.clock.now.getTime() - MINUTE
  const stop = startJobs(app.services.jobs, {
    log: createLog('silent'),
    claim: async (name) => claimed.push(name) > 0,
    runs,
    readLastKnown: recorder.newestAt,
    readSkew: async () => skew,
    // The clock advances a minute per check, so that the test reaches the night without waiting.
    clocks: {
      wall: () => {
        wall += MINUTE
        return wall
      },
      steady: () => wall,
    },
  })
  await until(() => claimed.includes('failed billing events'), 'the night does not come')
  const hasRun = () => !claimed.includes('idle guests') || runs.get('idle guests')
  await until(hasRun, 'the claimed job does not end')
  await stop()
  return claimed
}

function nightIn(days: number): Date {
  const at = new Date(Date.now() + days * DAY)
  at.setUTCHours(3, 39, 59, 950)
  return at
}
