import { lt, sql } from 'drizzle-orm'
import { HOUR_MS } from '../../lib/durations.ts'
import type { EncryptionDb } from './schema.ts'

/** How far the clocks of instances may differ before one accepts what another has already forgotten. */
const CLOCK_SLACK_MS = HOUR_MS

export type ReplayGuard = ReturnType<typeof createReplayGuard>

/** Makes sure that a sealed request is carried out only once, also after a restart. */
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

  /** Records a request durably before it is carried out; false when it was received before. */
  function remember(id: string, forgetAt: Date): Promise<boolean> {
    return db.write(async (tx) => (await insert(tx).execute({ id, forgetAt })).length === 1)
  }

  async function sweep() {
    const longAgo = new Date(now().getTime() - CLOCK_SLACK_MS)
    await db.write(async (tx) => {
      await tx.delete(sealedRequests).where(lt(sealedRequests.forgetAt, longAgo))
    })
  }
}
