import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type LimitsDb = Db<ReturnType<typeof limitTables>>

/** What limits count. */
export function limitTables(columns: Columns) {
  const { table, text, int, ms } = columns

  /** Counters of limits. `until`: when the window ends, or when the next try is allowed. */
  const limits = table('limits', {
    key: text().primaryKey(),
    count: int().notNull(),
    until: ms().notNull(),
  })

  return { limits }
}
