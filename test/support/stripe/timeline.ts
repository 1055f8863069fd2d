import type { Clock } from '../app.ts'

export type Timeline = ReturnType<typeof createTimeline>

type Entry = { at: number; run: () => void }

/** A schedule on a test's clock, in Unix seconds. `runDue` runs what is due, in order and each entry at its own time. */
export function createTimeline(clock: Clock) {
  /** Latest first. */
  const entries: Entry[] = []
  let current: number | null = null
  return { now, schedule, runDue }

  /** The time of the entry that is running, or else the clock's. */
  function now(): number {
    return current ?? Math.floor(clock.now.getTime() / 1000)
  }

  function schedule(at: number, run: () => void) {
    let low = 0
    for (let high = entries.length; low < high; ) {
      const middle = (low + high) >> 1
      if ((entries[middle]?.at ?? 0) > at) low = middle + 1
      else high = middle
    }
    entries.splice(low, 0, { at, run })
  }

  /** Runs everything that is due. */
  function runDue() {
    if (current !== null) return
    const until = now()
    try {
      for (let next = entries.at(-1); next && next.at <= until; next = entries.at(-1)) {
        entries.pop()
        current = next.at
        next.run()
      }
    } finally {
      current = null
    }
  }
}
