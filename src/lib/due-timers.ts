import { DAY_MS, HOUR_MS } from './durations.ts'
/**
 * A clock on the wall, which may jump, and one that only ever runs, both in ms. `lastKnown`: the newest time that was
 * recorded before the start; null where nothing was.
 */
export type Clocks = { wall: () => number; steady: () => number; lastKnown: number | null }

/** What is due is judged by these. */
type Scheduled = { schedule: string[]; deletesByAge?: boolean }

/** A clock that was set ahead by mistake is set back within this time, or it was no mistake. */
const BELIEVED_AFTER = HOUR_MS
/** Less than this is a busy process, not a clock that was set. */
const JUMP = 2 * 60 * 1000

/**
 * Finds the timers whose time has come since it was last asked, by the time on the wall: after a jump ahead, all that it
 * has jumped over. Where that is by more than a day, timers that delete what is old wait until the clock has kept it for
 * an hour of the steady clock: a wrong year would delete everything. The same holds for a start more than a day after
 * `lastKnown`. `jump` tells by how many ms it has jumped, else 0.
 */
export function createDueTimers<T extends Scheduled>(timers: T[], clocks: Clocks) {
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
    const due = timers.filter((timer) => isDue(timer, wallBefore, wall))
    wallBefore = wall
    steadyBefore = steady
    if (steady < doubtedUntil) {
      for (const timer of due) if (timer.deletesByAge) waiting.add(timer)
      return { due: due.filter((timer) => !timer.deletesByAge), jump: asJump(jump) }
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
