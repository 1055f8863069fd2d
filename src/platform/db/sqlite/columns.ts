import {
  type AnySQLiteColumn,
  blob,
  customType,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'

/** drizzle's own timestamp column fails on a null placeholder. */
const milliseconds = customType<{ data: Date; driverData: number }>({
  dataType: () => 'integer',
  toDriver: (time) => (time === null ? null : time.getTime()) as number,
  fromDriver: (ms) => new Date(ms),
})

export const sqliteColumns = {
  table: sqliteTable,
  /** `name`: the column's name, if it differs from the property's name in snake case. */
  text: (name?: string) => (name === undefined ? text() : text(name)),
  /** Text that is read in a form that may differ from the stored one. */
  textReadAs: (fromDriver: (stored: string) => string) =>
    customType<{ data: string; driverData: string }>({ dataType: () => 'text', fromDriver })(),
  /** A reference to what the row belongs to; deleting that deletes the row. */
  ownedBy: (owner: () => AnySQLiteColumn) =>
    text().notNull().references(owner, { onDelete: 'cascade' }),
  int: () => integer(),
  real: () => real(),
  bool: () => integer({ mode: 'boolean' }),
  /** Integer milliseconds since 1970 in the database, a `Date` in the program. */
  ms: milliseconds,
  /** JSON stored as text. */
  json: <T>() => text({ mode: 'json' }).$type<T>(),
  blob: () => blob({ mode: 'buffer' }),
  index,
  uniqueIndex,
  primaryKey,
}
