import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db, Reader, Tx } from './db.ts'
import { prepareFind, prepareUpsert } from './prepared.ts'

/** The progress of jobs, by job. */
type ProgressTable = SQLiteTable & { $inferSelect: { id: string; reached: string } }

/** Repeats a change of up to `rows` rows until it finds fewer: one large change would delay all others. */
export async function repeatInBatches(
  db: Pick<Db<unknown>, 'write' | 'pauseBatches'>,
  rows: number,
  work: (tx: Tx) => Promise<number>,
  signal?: AbortSignal,
) {
  while (!signal?.aborted && (await db.write(work)) === rows) {
    await db.pauseBatches()
  }
}

/** Reads and stores how far the job `id` has come, such as the last key; null before the first change. */
export function createCursor(
  db: Pick<Db<unknown>, 'read' | 'prepareWrite'>,
  table: ProgressTable,
  id: string,
) {
  const find = prepareFind(db, table)
  const upsert = prepareUpsert(db, table)
  return {
    read: async (from: Reader = db.read) => (await find(from, { id }))?.reached ?? null,
    store: (tx: Tx, reached: string) => upsert(tx, { id, reached }),
  }
}

/** Sorts after every id and key. */
export const END = '~'

/**
 * Fills a new table from older rows in small background changes. `fill` returns the last key, or undefined at the end.
 */
export async function backfill(
  db: Pick<Db<unknown>, 'write' | 'pauseBatches'>,
  { read, store }: ReturnType<typeof createCursor>,
  fill: (tx: Tx, after: string) => Promise<string | undefined>,
  signal: AbortSignal,
) {
  for (let after = (await read()) ?? ''; after !== END && !signal.aborted; ) {
    after = await db.write(async (tx) => {
      const reached = (await fill(tx, after)) ?? END
      await store(tx, reached)
      return reached
    })
    await db.pauseBatches()
  }
}
