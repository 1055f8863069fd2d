import { eq } from 'drizzle-orm'
import type { Tx } from '../../platform/db/db.ts'
import type { UsersDb } from './schema.ts'

/** How far a backfill has come, in the row `id` of `user_backfills`. */
export function createProgress(db: UsersDb, id: string) {
  const { userBackfills } = db.tables
  return { read, store }

  /** Null before the first batch. */
  async function read(): Promise<string | null> {
    const [row] = await db.read.select().from(userBackfills).where(eq(userBackfills.id, id))
    return row?.reached ?? null
  }

  async function store(tx: Tx, reached: string) {
    await tx
      .insert(userBackfills)
      .values({ id, reached })
      .onConflictDoUpdate({ target: userBackfills.id, set: { reached } })
  }
}
