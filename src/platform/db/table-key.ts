import { type Column, getTableColumns, is, type Table } from 'drizzle-orm'
import { PgTable, getTableConfig as postgresConfig } from 'drizzle-orm/pg-core'
import { type SQLiteTable, getTableConfig as sqliteConfig } from 'drizzle-orm/sqlite-core'

/** The columns of a table's primary key, and their property names. */
export function findTableKey(table: Table): { name: string; column: Column }[] {
  const { columns, primaryKeys } = is(table, PgTable)
    ? postgresConfig(table)
    : sqliteConfig(table as SQLiteTable)
  const compositeKey = primaryKeys[0]?.columns as Column[] | undefined
  const key = compositeKey ?? (columns as Column[]).filter(({ primary }) => primary)
  const keyNames = new Set(key.map(({ name }) => name))
  // The columns of a composite key are not the same objects as the table's, but have the same names.
  return Object.entries(getTableColumns(table))
    .filter(([, column]) => keyNames.has(column.name))
    .map(([name, column]) => ({ name, column }))
}
