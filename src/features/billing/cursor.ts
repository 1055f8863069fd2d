import { eq } from 'drizzle-orm'
import type { Reader, Tx } from '../../platform/db/db.ts'
import type { BillingDb } from './schema.ts'

/** Stores a job's progress in the row `id` of the `reconciliation` table. */
export function createCursor(db: BillingDb, id: string) {
  const { reconciliation } = db.tables
  return { read, store }

  /** The last key processed; null before the first. */
  async function read(from: Pick<Reader, 'select'> = db.read): Promise<string | null> {
    const [row] = await from.select().from(reconciliation).where(eq(reconciliation.id, id))
    return row?.afterPurchase ?? null
  }

  async function store(tx: Tx, afterPurchase: string) {
    await tx
      .insert(reconciliation)
      .values({ id, afterPurchase })
      .onConflictDoUpdate({ target: reconciliation.id, set: { afterPurchase } })
  }
}
