import { expect, test } from 'bun:test'
import { createLog } from '../../../src/lib/log.ts'
import { startTimers, type TimerRun } from '../../../src/lib/timer.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

test('a start with a clock that is months ahead deletes no guest and records no time', async () => {
  await using app = await createTestApp()
  const { db, recorder } = app.services
  await app.ask('POST', '/api/auth/guest/v1')
  await recorder.flush()
  const known = await recorder.newestAt()
  expect(await startInTheNight(app)).not.toContain('idle guests')
  expect(await db.read.$count(db.tables.users)).toBe(1)
  expect(await recorder.newestAt()).toEqual(known)
})

test('a start in the same night as the last recorded time deletes guests', async () => {
  await using app = await createTestApp()
  const { db, recorder } = app.services
  await app.ask('POST', '/api/auth/guest/v1')
  app.clock.now = nightIn(120)
  await recorder.flush()
  expect(await startInTheNight(app)).toContain('idle guests')
  expect(await db.read.$count(db.tables.users)).toBe(0)
})

test('an instance whose clock differs from the shared one deletes nothing by age', async () => {
  await using app = await createTestApp()
  app.clock.now = nightIn(120)
  await app.services.recorder.flush()
  for (const seconds of [1_137, -1_137]) {
    const claimed = await startInTheNight(app, seconds * 1000)
    expect(claimed).not.toContain('sealed requests')
    expect(claimed).not.toContain('idle guests')
  }
  expect(await startInTheNight(app, 2_000)).toContain('idle guests')
})

test('a later time than now, left by a wrong clock, is not the last recorded one', async () => {
  await using app = await createTestApp()
  const { recorder } = app.services
  await recorder.flush()
  const known = await recorder.newestAt()
  app.clock.advance(300 * DAY)
  await recorder.flush()
  app.clock.advance(-300 * DAY)
  expect(await recorder.newestAt()).toEqual(known)
})

/** Runs what is due when a server starts in 120 days, before guests are deleted; the names of what all instances share. */
async function startInTheNight(app: TestApp, skew: number | null = null): Promise<string[]> {
  const { recorder } = app.services
  const claimed: string[] = []
  const runs = new Map<string, TimerRun | null>()
  app.clock.now = nightIn(120)
  let wall = app.clock.now.getTime() - MINUTE
  const stop = startTimers(app.services.jobs, {
    log: createLog('silent'),
    claim: async (name) => claimed.push(name) > 0,
    runs,
    readLastKnown: recorder.newestAt,
    readSkew: async () => skew,
    // Each look is a minute later: the night comes without waiting for it.
    clocks: {
      wall: () => {
        wall += MINUTE
        return wall
      },
      steady: () => wall,
    },
  })
  while (!claimed.includes('failed billing events')) await Bun.sleep(10)
  while (claimed.includes('idle guests') && !runs.get('idle guests')) await Bun.sleep(10)
  await stop()
  return claimed
}

function nightIn(days: number): Date {
  const at = new Date(Date.now() + days * DAY)
  at.setUTCHours(3, 39, 59, 950)
  return at
}
