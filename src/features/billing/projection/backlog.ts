import type { Log } from '../../../lib/log/log.ts'
import { pause } from '../../../platform/jobs/jobs.ts'
import { createWorkers } from '../../../platform/queue/workers.ts'
import type { BillingDb } from '../schema.ts'
import type { Projection } from './projection.ts'

type BacklogDeps = { db: BillingDb; projection: Projection; now: () => Date; log: Log }

export type Backlog = ReturnType<typeof createBacklog>

/** After each slice, other work gets twice the time that it took; meanwhile, events for the next slice arrive. */
const PAUSE_SLICES = 2
const MAX_PAUSE_MS = 100

/** Works in slices, so that other work is not delayed. Claiming a slice processes it, so it needs no lease. */
export function createBacklog({ db, projection, now, log }: BacklogDeps) {
  return createWorkers<{ id: string; ms: number }>({
    name: 'billing backlog',
    slots: 1,
    claim: processSlice,
    work: ({ ms }, signal) => pause(ms, signal),
    now,
    log,
  })

  async function processSlice() {
    const start = performance.now()
    if (!(await db.write(projection.runSlice))) return []
    const ms = Math.min(PAUSE_SLICES * (performance.now() - start), MAX_PAUSE_MS)
    return [{ id: 'pause', ms }]
  }
}
