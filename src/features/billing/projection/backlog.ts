import type { Log } from '../../../lib/log.ts'
import { oneAtATime } from '../../../lib/one-at-a-time.ts'
import type { BillingDb } from '../schema.ts'
import type { Projection } from './projection.ts'

type BacklogDeps = { db: BillingDb; projection: Projection; log: Log }

export type Backlog = ReturnType<typeof createBacklog>

/** A pause between two slices, for other work. */
const PAUSE_MS = 2

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
    while (!stopped && (await db.write(projection.runSlice))) await Bun.sleep(PAUSE_MS)
  }
}
