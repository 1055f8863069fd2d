import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type PlansDb = Db<ReturnType<typeof planTables>>

export function planTables(columns: Columns) {
  const { table, text, int, ms, json, uniqueIndex } = columns

  const plans = table(
    'plans',
    {
      id: text().primaryKey(),
      code: text().notNull(),
      position: int().notNull(),
      /** See `model.ts`. */
      fields: json<Record<string, unknown>>().notNull(),
      archivedAt: ms(),
    },
    (t) => [uniqueIndex('plans_code').on(t.code)],
  )

  return { plans }
}
