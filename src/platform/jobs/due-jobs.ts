import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
/**
 * In ms; `wall` may jump. `lastKnown`: the newest recorded time. `wasAhead`: whether a time later than now was recorded.
 */
export type Clocks = {
  wall: () => number
  steady: () => number
  lastKnown: number | null
  wasAhead?: boolean
}

type Scheduled = { schedule: string[]; deletesByAge?: boolean; runsAfterSetBack?: boolean }

/** How long a clock that jumped ahead must keep the new time before it is trusted. */
const TRUST_DELAY_MS = HOUR_MS
/** The shortest retention is an hour: after a smaller jump, nothing younger than half an hour is deleted. */
const MAX_TRUSTED_JUMP_MS = HOUR_MS / 2
/** A smaller difference comes from a busy process, not from a clock change. */
const MIN_JUMP_MS = 2 * MINUTE_MS

/**
 * `take` returns the jobs due since the last call, including those skipped by a jump (in ms; 0 for none); `wall` is the
 * time of the call. After a jump of over half an hour, or more than a day after `lastKnown`, jobs that delete by age
 * wait an hour: a wrong clock would delete everything. Jobs that repair what a fast clock left behind run once it is
 * set back, perhaps before the start.
 */
export function createDueJobs<T extends Scheduled>(jobs: T[], clocks: Clocks) {
  let wallBefore = clocks.wall()
  let steadyBefore = clocks.steady()
  const isLongAgo = clocks.lastKnown !== null && wallBefore - clocks.lastKnown > DAY_MS
  let inDoubtUntil = isLongAgo ? steadyBefore + TRUST_DELAY_MS : Number.NEGATIVE_INFINITY
  const waiting = new Set<T>()
  let isSetBack = clocks.wasAhead ?? false
  return { take, isClockInDoubt: () => clocks.steady() < inDoubtUntil }

  function take(): { due: T[]; jump: number; wall: number } {
    const [wall, steady] = [clocks.wall(), clocks.steady()]
    const jump = wall - wallBefore - (steady - steadyBefore)
    if (jump > MAX_TRUSTED_JUMP_MS) inDoubtUntil = steady + TRUST_DELAY_MS
    if (jump < -MIN_JUMP_MS) {
      waiting.clear()
      isSetBack = true
    }
    const due = jobs.filter(
      (job) => isDue(job, wallBefore, wall) || (isSetBack && job.runsAfterSetBack === true),
    )
    isSetBack = false
    wallBefore = wall
    steadyBefore = steady
    if (steady < inDoubtUntil) {
      for (const job of due) if (job.deletesByAge) waiting.add(job)
      return { due: due.filter((job) => !job.deletesByAge), jump: ignoreSmallJump(jump), wall }
    }
    const all = new Set([...due, ...waiting])
    waiting.clear()
    return { due: [...all], jump: ignoreSmallJump(jump), wall }
  }
}

function isDue({ schedule }: Scheduled, after: number, until: number): boolean {
  return schedule.some((expression) => {
    const next = Bun.cron.parse(expression, after, { tz: 'UTC' })
    return next !== null && next.getTime() <= until
  })
}

function ignoreSmallJump(difference: number): number {
  return Math.abs(difference) > MIN_JUMP_MS ? difference : 0
}
