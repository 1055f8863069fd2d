import { type Column, getTableColumns, is, type Table } from 'drizzle-orm'
import { PgTable, getTableConfig as postgresConfig } from 'drizzle-orm/pg-core'
import { type SQLiteTable, getTableConfig as sqliteConfig } from 'drizzle-orm/sqlite-core'

/** The columns of a table's primary key, and their names in the program. */
export function keyOf(table: Table): { name: string; column: Column }[] {
  const { columns, primaryKeys } = is(table, PgTable)
    ? postgresConfig(table)
    : sqliteConfig(table as SQLiteTable)
  const together = primaryKeys[0]?.columns as Column[] | undefined
  const key = together ?? (columns as Column[]).filter(({ primary }) => primary)
  const isKey = new Set(key.map(({ name }) => name))
  // The columns of a composite key are other objects than those of the table, with the same names.
  return Object.entries(getTableColumns(table))
    .filter(([, column]) => isKey.has(column.name))
    .map(([name, column]) => ({ name, column }))
}
