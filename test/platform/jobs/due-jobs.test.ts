import { expect, test } from 'bun:test'
import { createDueJobs } from '../../../src/platform/jobs/due-jobs.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

const outbox = { name: 'outbox', schedule: ['* * * * *'] }
const backup = { name: 'backup', schedule: ['15 2 * * *'] }
const repair = { name: 'repair', schedule: [], runsAfterSetBack: true }
const guests = { name: 'guests', schedule: ['40 3 * * *'], deletesByAge: true }

/** Starts the jobs at noon. Like a server, `advance` checks every minute which jobs are due. */
function start(lastKnown: number | null = null, wasAhead = false) {
  const clock = { wall: Date.parse('2026-03-01T12:00:00Z'), steady: 5_000 }
  const jobs = createDueJobs([outbox, backup, repair, guests], {
    wall: () => clock.wall,
    steady: () => clock.steady,
    lastKnown: lastKnown === null ? null : clock.wall + lastKnown,
    wasAhead,
  })
  return { advance, take, jump }

  function take(): string[] {
    return jobs.take().due.map(({ name }) => name)
  }

  /** The names of the jobs that became due, except the every-minute job. */
  function advance(ms: number): string[] {
    const due: string[] = []
    for (let at = 0; at < ms; at += MINUTE) {
      clock.wall += MINUTE
      clock.steady += MINUTE
      const taken = take()
      expect(taken).toContain('outbox')
      due.push(...taken.filter((name) => name !== 'outbox'))
    }
    return due
  }

  function jump(difference: number) {
    clock.wall += difference
  }
}

test('runs every job once at each of its times', () => {
  const { advance, take } = start()
  expect(advance(3 * DAY)).toEqual(['backup', 'guests', 'backup', 'guests', 'backup', 'guests'])
  expect(take()).toEqual([])
})

test('runs each job that a clock jump skipped exactly once, but deletes data only after an hour', () => {
  const { advance, take, jump } = start()
  jump(20 * HOUR)
  expect(take()).toEqual(['outbox', 'backup'])
  expect(advance(59 * MINUTE)).toEqual([])
  expect(advance(2 * MINUTE)).toEqual(['guests'])
})

test('a suspension of half an hour delays no jobs', () => {
  const { advance, take, jump } = start()
  expect(advance(15 * HOUR + 20 * MINUTE)).toEqual(['backup'])
  jump(30 * MINUTE)
  expect(take()).toEqual(['outbox', 'guests'])
})

test('after a jump of a year, runs nightly jobs within a minute, but deletes data only after an hour', () => {
  const { advance, take, jump } = start()
  jump(YEAR)
  expect(take()).toEqual(['outbox', 'backup'])
  expect(advance(59 * MINUTE)).toEqual([])
  expect(advance(MINUTE)).toEqual(['guests'])
  expect(advance(DAY)).toEqual(['backup', 'guests'])
})

test('deletes nothing in a night that the clock reached by a jump within the last hour', () => {
  const { advance, take, jump } = start()
  jump(YEAR + 15 * HOUR + 30 * MINUTE)
  expect(take()).toEqual(['outbox', 'backup'])
  expect(advance(30 * MINUTE)).toEqual([])
})

test('deletes nothing when the clock is set back in time, and runs normally the next night', () => {
  const { advance, take, jump } = start()
  jump(YEAR)
  take()
  advance(30 * MINUTE)
  jump(-YEAR)
  expect(take()).toEqual(['repair'])
  expect(advance(DAY)).toEqual(['backup', 'guests'])
})

test('reports how far the clock jumped, but not a busy minute', () => {
  const clock = { wall: 0, steady: 0 }
  const jobs = createDueJobs([], {
    wall: () => clock.wall,
    steady: () => clock.steady,
    lastKnown: null,
  })
  clock.wall += 3 * MINUTE
  clock.steady += 3 * MINUTE
  expect(jobs.take().jump).toBe(0)
  clock.wall += YEAR
  expect(jobs.take().jump).toBe(YEAR)
  clock.wall -= YEAR
  expect(jobs.take().jump).toBe(-YEAR)
})

test('deletes nothing in the first hour when started months after the last recorded time', () => {
  const { advance, jump, take } = start(-120 * DAY)
  jump(15 * HOUR + 39 * MINUTE)
  expect(take()).toEqual(['outbox', 'backup'])
  expect(advance(59 * MINUTE)).toEqual([])
})

test('after months of downtime, deletes by age once the clock has been steady for an hour', () => {
  const { advance, jump, take } = start(-120 * DAY)
  jump(15 * HOUR + 39 * MINUTE)
  take()
  expect(advance(HOUR)).toEqual(['guests'])
  expect(advance(DAY)).toEqual(['backup', 'guests'])
})

test('trusts the clock when started the next day or without a recorded time', () => {
  for (const lastKnown of [-20 * HOUR, null]) {
    const { advance } = start(lastKnown)
    expect(advance(16 * HOUR)).toEqual(['backup', 'guests'])
  }
})

test('a repair runs once when the clock is set back, even if that happened before the start', () => {
  const { advance, jump, take } = start()
  expect(advance(HOUR)).not.toContain('repair')
  jump(DAY)
  expect(take()).not.toContain('repair')
  jump(-DAY)
  expect(take()).toContain('repair')
  expect(advance(HOUR)).not.toContain('repair')
  const restarted = start(null, true)
  expect(restarted.take()).toContain('repair')
  expect(restarted.take()).not.toContain('repair')
})
