import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type SettingsDb = Db<ReturnType<typeof settingsTables>>

/** One row per top-level field. */
export function settingsTables(columns: Columns) {
  const { table, text, json } = columns

  const settings = table('settings', {
    key: text().primaryKey(),
    value: json<unknown>().notNull(),
  })

  return { settings }
}
