import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { sqliteColumns } from './sqlite/columns.ts'

/** The kit that tables are made of. Each engine brings its own, of the same names and types. */
export type Columns = typeof sqliteColumns

/** The table that others refer to when their rows belong to a person. */
export type UsersTable = { id: AnySQLiteColumn }
