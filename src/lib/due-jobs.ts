import { DAY_MS, HOUR_MS } from './durations.ts'
/**
 * The wall clock, which may jump, and a monotonic clock, both in ms. `lastKnown` is the newest time recorded before
 * the start; null when none was.
 */
export type Clocks = { wall: () => number; steady: () => number; lastKnown: number | null }

type Scheduled = { schedule: string[]; deletesByAge?: boolean }

/** How long the clock must keep a new time more than a day ahead before it is trusted. */
const BELIEVED_AFTER = HOUR_MS
/** A smaller difference is a busy process, not a change of the clock. */
const JUMP = 2 * 60 * 1000

/**
 * `take` returns the jobs that became due since the last call by the wall clock, including those it jumped over.
 * After a jump of more than a day, jobs that delete by age wait until the clock has kept the new time for an hour:
 * a wrong year would delete everything. The same holds for a start more than a day after `lastKnown`. `jump` is in
 * ms; 0 for none.
 */
export function createDueJobs<T extends Scheduled>(jobs: T[], clocks: Clocks) {
  let wallBefore = clocks.wall()
  let steadyBefore = clocks.steady()
  const isLongAgo = clocks.lastKnown !== null && wallBefore - clocks.lastKnown > DAY_MS
  let doubtedUntil = isLongAgo ? steadyBefore + BELIEVED_AFTER : Number.NEGATIVE_INFINITY
  const waiting = new Set<T>()
  return { take, isClockDoubted: () => clocks.steady() < doubtedUntil }

  function take(): { due: T[]; jump: number } {
    const [wall, steady] = [clocks.wall(), clocks.steady()]
    const jump = wall - wallBefore - (steady - steadyBefore)
    if (jump > DAY_MS) doubtedUntil = steady + BELIEVED_AFTER
    if (jump < -JUMP) waiting.clear()
    const due = jobs.filter((job) => isDue(job, wallBefore, wall))
    wallBefore = wall
    steadyBefore = steady
    if (steady < doubtedUntil) {
      for (const job of due) if (job.deletesByAge) waiting.add(job)
      return { due: due.filter((job) => !job.deletesByAge), jump: asJump(jump) }
    }
    const all = new Set([...due, ...waiting])
    waiting.clear()
    return { due: [...all], jump: asJump(jump) }
  }
}

function isDue({ schedule }: Scheduled, after: number, until: number): boolean {
  return schedule.some((expression) => {
    const next = Bun.cron.parse(expression, after, { tz: 'UTC' })
    return next !== null && next.getTime() <= until
  })
}

function asJump(difference: number): number {
  return Math.abs(difference) > JUMP ? difference : 0
}
