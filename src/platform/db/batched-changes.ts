import type { Db, Tx } from './db.ts'

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

/** Reads and stores the last key that was handled; null before the first change. */
type Progress = {
  read: () => Promise<string | null>
  store: (tx: Tx, reached: string) => Promise<void>
}

/** Sorts after every id and key. */
export const END = '~'

/**
 * Fills a new table from older rows in small background changes. `fill` returns the last key, or undefined at the end.
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
