import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type LimitsDb = Db<ReturnType<typeof limitTables>>

export function limitTables(columns: Columns) {
  const { table, text, int, ms } = columns

  /** The counters. `until` is when the window ends, or when the next attempt is allowed. */
  const limits = table('limits', {
    key: text().primaryKey(),
    count: int().notNull(),
    until: ms().notNull(),
  })

  return { limits }
}
