import { and, asc, gt, lte, type SQL } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Reader } from './db.ts'

/** How many rows are looked at in one statement, and how many of an index are counted. */
const ROWS = 2_000
const COUNTED_ROWS = 50_000

/**
 * Conditions that split `table`, or its rows that `among` is true of, into ranges of `key`, a text. Work over a table
 * that grows goes range by range: one statement over millions of rows would hold up everything else.
 */
export async function* keyRanges(
  read: Reader,
  table: SQLiteTable,
  key: SQLiteColumn,
  { among, rows = ROWS }: { among?: SQL | undefined; rows?: number } = {},
): AsyncGenerator<SQL | undefined> {
  for (let after = ''; ; ) {
    const [last] = (await read
      .select({ key })
      .from(table)
      .where(and(among, gt(key, after)))
      .orderBy(asc(key))
      .limit(1)
      .offset(rows - 1)) as { key: string }[]
    yield and(among, gt(key, after), last && lte(key, last.key))
    if (!last) return
    after = last.key
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** How many rows `table` has. */
export async function countRows(
  read: Reader,
  table: SQLiteTable,
  key: SQLiteColumn,
): Promise<number> {
  let count = 0
  for await (const range of keyRanges(read, table, key, { rows: COUNTED_ROWS })) {
    count += await read.$count(table, range)
  }
  return count
}
