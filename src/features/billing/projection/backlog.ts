import { oneAtATime } from '../../../lib/concurrency/one-at-a-time.ts'
import type { Log } from '../../../lib/log/log.ts'
import type { BillingDb } from '../schema.ts'
import type { Projection } from './projection.ts'

type BacklogDeps = { db: BillingDb; projection: Projection; log: Log }

export type Backlog = ReturnType<typeof createBacklog>

/** Between two slices other work has the time of two, in which further events for the next slice arrive. */
const PAUSE_SLICES = 2
const MAX_PAUSE_MS = 100

/** Processes the projection's stale work in slices, so that other work is not delayed. */
export function createBacklog({ db, projection, log }: BacklogDeps) {
  let stopped = false
  const drain = oneAtATime(work)
  return { drainInBackground, drain, stop }

  /** Starts working in the background. */
  function drainInBackground() {
    drain().catch((err) => {
      if (!stopped) log.error({ err }, 'the billing backlog could not be processed')
    })
  }

  /** Waits for the current slice. The remaining work is stored, and continues at the next start. */
  async function stop() {
    stopped = true
    await drain().catch(() => {})
  }

  async function work() {
    for (;;) {
      const start = performance.now()
      if (stopped || !(await db.write(projection.runSlice))) return
      await Bun.sleep(Math.min(PAUSE_SLICES * (performance.now() - start), MAX_PAUSE_MS))
    }
  }
}
