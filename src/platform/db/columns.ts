import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { sqliteColumns } from './sqlite/columns.ts'

/** The column kit for table definitions. Each engine has its own, with the same names and types. */
export type Columns = typeof sqliteColumns

/** The users table, which the tables of features reference. */
export type UsersTable = { id: AnySQLiteColumn }
