import type { Db, Tx } from './db.ts'

/**
 * Repeats a change that handles at most `rows` rows and returns how many it has found, until it finds fewer: one change
 * with all of them would delay every other change.
 */
export async function repeatInBatches(
  db: Pick<Db<unknown>, 'write'>,
  rows: number,
  work: (tx: Tx) => Promise<number>,
  signal?: AbortSignal,
) {
  while (!signal?.aborted && (await db.write(work)) === rows) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}
