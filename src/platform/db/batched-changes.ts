import type { Db, Tx } from './db.ts'

/**
 * Repeats a change that handles at most `rows` rows and returns how many it has found, until it finds fewer: one change
 * with all of them would delay every other change.
 */
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

/** How far a backfill has come: the last key that it has handled; null before its first change. */
type Progress = {
  read: () => Promise<string | null>
  store: (tx: Tx, reached: string) => Promise<void>
}

/** Sorts after every id and key. */
export const END = '~'

/**
 * Fills a new table from rows that are older than it, in the background and in small changes. `fill` handles the rows
 * after a key, and returns the last one's key; undefined when there are no more. It resumes after a restart.
 */
export async function backfill(
  db: Pick<Db<unknown>, 'write' | 'pauseBatches'>,
  { read, store }: Progress,
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
