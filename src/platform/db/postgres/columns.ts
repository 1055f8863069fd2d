import {
  type AnyPgColumn,
  boolean,
  customType,
  doublePrecision,
  index,
  pgTable,
  primaryKey,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import type { Columns } from '../columns.ts'

/** Sorted by bytes, as in SQLite. */
const textType = () => 'text collate "C"'
const text = customType<{ data: string }>({ dataType: textType })

/** The driver returns bigint values as text. */
const int = customType<{ data: number; driverData: string | number }>({
  dataType: () => 'bigint',
  fromDriver: Number,
})

const milliseconds = customType<{ data: Date; driverData: string | number }>({
  dataType: () => 'bigint',
  toDriver: (time) => (time === null ? null : time.getTime()) as number,
  fromDriver: (ms) => new Date(Number(ms)),
})

/** As text: the driver stores objects passed to `jsonb` as JSON strings. */
const json = customType<{ data: unknown; driverData: string }>({
  dataType: () => 'text',
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (content) => JSON.parse(content),
})

const blob = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })

/** The column kit of PostgreSQL, with the names and types of SQLite's. */
export const postgresColumns = {
  table: pgTable,
  text: (name?: string) => (name === undefined ? text() : text(name)),
  textReadAs: (fromDriver: (stored: string) => string) =>
    customType<{ data: string; driverData: string }>({ dataType: textType, fromDriver })(),
  ownedBy: (owner: () => AnyPgColumn) =>
    text().notNull().references(owner, { onDelete: 'cascade' }),
  int: () => int(),
  real: () => doublePrecision(),
  bool: () => boolean(),
  ms: milliseconds,
  json: () => json(),
  blob: () => blob(),
  index,
  uniqueIndex,
  primaryKey,
} as unknown as Columns
