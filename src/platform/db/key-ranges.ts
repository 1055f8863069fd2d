import { and, asc, eq, gt, gte, lt, lte, type SQL } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { yieldToEventLoop } from '../../lib/concurrency/yield-to-event-loop.ts'
import type { Reader } from './db.ts'

/** Rows per range: the default, and a larger number for counting, which reads only an index. */
const RANGE_ROWS = 2_000
const COUNT_ROWS = 50_000

/** Splits `table`, or its rows that match `among`, by `key`: one statement over millions of rows would block. */
export async function* keyRanges(
  read: Reader,
  table: SQLiteTable,
  key: SQLiteColumn,
  { among, rows = RANGE_ROWS }: { among?: SQL | undefined; rows?: number } = {},
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
    await yieldToEventLoop()
  }
}

export async function countRows(
  read: Reader,
  table: SQLiteTable,
  key: SQLiteColumn,
): Promise<number> {
  let count = 0
  for await (const range of keyRanges(read, table, key, { rows: COUNT_ROWS })) {
    count += await read.$count(table, range)
  }
  return count
}

/** Texts that begin with `prefix`, as a range of the column's index. */
export function beginsWith(column: SQLiteColumn, prefix: string) {
  return and(gte(column, prefix), lt(column, `${prefix}\u{10ffff}`))
}

/** Matches rows with `value`; undefined if a filter has no value. */
export function equals(column: SQLiteColumn, value: unknown): SQL | undefined {
  return value === undefined ? undefined : eq(column, value)
}

/** The number of rows that match, counted up to `max`; the default is enough to say "more than 1,000". */
export async function countUpTo(
  read: Reader,
  table: SQLiteTable,
  key: SQLiteColumn,
  where: SQL | undefined,
  max = 1_001,
): Promise<number> {
  return read.$count(read.select({ key }).from(table).where(where).limit(max).as('counted'))
}
