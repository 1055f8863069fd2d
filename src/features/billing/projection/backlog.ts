import type { Log } from '../../../lib/log.ts'
import { oneAtATime } from '../../../lib/one-at-a-time.ts'
import type { BillingDb } from '../schema.ts'
import type { Projection } from './projection.ts'

type BacklogDeps = { db: BillingDb; projection: Projection; log: Log }

export type Backlog = ReturnType<typeof createBacklog>

/** A rest between two slices, in ms, in which others are served. */
const PAUSE_MS = 2

/** Does what events have left to do, slice by slice, so that nobody waits for it for long. */
export function createBacklog({ db, projection, log }: BacklogDeps) {
  let stopped = false
  /** Works until nothing is left. */
  const drain = oneAtATime(work)
  return { nudge, drain, stop }

  /** Begins soon, without anybody waiting for it. */
  function nudge() {
    drain().catch((err) => {
      if (!stopped) log.error({ err }, 'the backlog of billing events cannot be worked on')
    })
  }

  /** Ends with the slice under way. What is left is in the database and goes on at the next start. */
  async function stop() {
    stopped = true
    await drain().catch(() => {})
  }

  async function work() {
    while (!stopped && (await db.write(projection.runSlice))) await Bun.sleep(PAUSE_MS)
  }
}
