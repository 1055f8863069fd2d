import {
  blob,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'

/** The column kit of SQLite. Another engine brings its own kit of the same names and types. */
export const sqliteColumns = {
  table: sqliteTable,
  text: () => text(),
  int: () => integer(),
  real: () => real(),
  bool: () => integer({ mode: 'boolean' }),
  /** Integer milliseconds since 1970 in the database, a `Date` in the program. */
  ms: () => integer({ mode: 'timestamp_ms' }),
  /** JSON kept as text. */
  json: <T>() => text({ mode: 'json' }).$type<T>(),
  blob: () => blob({ mode: 'buffer' }),
  index,
  uniqueIndex,
  primaryKey,
}
