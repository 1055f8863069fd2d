import { inArray, lt } from 'drizzle-orm'
import { HOUR_MS } from '../../lib/time/durations.ts'
import { repeatInBatches } from '../db/batched-changes.ts'
import { prepareInsertNew } from '../db/prepared.ts'
import type { EncryptionDb } from './schema.ts'

const ROWS_PER_CHANGE = 2_000
/** How far the clocks of instances may differ before one accepts a request that another no longer stores. */
const CLOCK_SLACK_MS = HOUR_MS

export type ReplayGuard = ReturnType<typeof createReplayGuard>

/** Ensures that a sealed request is executed only once, even after a restart. */
export function createReplayGuard({ db, now }: { db: EncryptionDb; now: () => Date }) {
  const { sealedRequests } = db.tables
  const insert = prepareInsertNew(db, sealedRequests)
  return { remember, sweep }

  /** Records a request durably before it is executed; false when it was already received. */
  function remember(id: string, forgetAt: Date): Promise<boolean> {
    return db.write((tx) => insert(tx, { id, forgetAt }))
  }

  async function sweep() {
    const forgetBefore = new Date(now().getTime() - CLOCK_SLACK_MS)
    await repeatInBatches(db, ROWS_PER_CHANGE, async (tx) => {
      const { id, forgetAt } = sealedRequests
      const old = tx.select({ id }).from(sealedRequests).where(lt(forgetAt, forgetBefore))
      const ids = (await old.limit(ROWS_PER_CHANGE)).map((row) => row.id)
      if (ids.length > 0) await tx.delete(sealedRequests).where(inArray(id, ids))
      return ids.length
    })
  }
}
