import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type AlertsDb = Db<ReturnType<typeof alertTables>>

/** Rules without a row have their defaults. */
export function alertTables({ table, text, bool, real, ms }: Columns) {
  const alerts = table('alerts', {
    rule: text().primaryKey(),
    isOn: bool().notNull(),
    /** Null for the rule's default. */
    threshold: real(),
    /** Since when the condition has held; null while it does not. */
    breachedSince: ms(),
    /** When an instance measured last that the condition holds. */
    breachedAt: ms(),
    /** When operators were told; null while the alert is not firing. */
    firedAt: ms(),
    /** Since when the condition of a firing alert has no longer held. */
    calmSince: ms(),
    /** What was measured last; null if it is unknown. */
    value: real(),
  })
  return { alerts }
}
