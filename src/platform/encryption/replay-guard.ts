import { lt, sql } from 'drizzle-orm'
import { HOUR_MS } from '../../lib/durations.ts'
import type { EncryptionDb } from './schema.ts'

/** Clocks of instances differ: whoever is behind still takes what whoever is ahead has forgotten, in ms. */
const CLOCK_SLACK = HOUR_MS

export type ReplayGuard = ReturnType<typeof createReplayGuard>

/** The sealed requests that were carried out: none is a second time, not after a restart either. */
export function createReplayGuard({ db, now }: { db: EncryptionDb; now: () => Date }) {
  const { sealedRequests } = db.tables
  const insert = db.prepareWrite((tx) =>
    tx
      .insert(sealedRequests)
      .values({ id: sql.placeholder('id'), forgetAt: sql.placeholder('forgetAt') })
      .onConflictDoNothing()
      .returning({ id: sealedRequests.id }),
  )
  return { remember, sweep }

  /** Records a request durably before it is carried out; false when it has come before. */
  function remember(id: string, forgetAt: Date): Promise<boolean> {
    return db.write(async (tx) => (await insert(tx).execute({ id, forgetAt })).length === 1)
  }

  async function sweep() {
    const longAgo = new Date(now().getTime() - CLOCK_SLACK)
    await db.write(async (tx) => {
      await tx.delete(sealedRequests).where(lt(sealedRequests.forgetAt, longAgo))
    })
  }
}
