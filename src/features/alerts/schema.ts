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
    /** When the condition began to hold; null while it does not. */
    breachedSince: ms(),
    /** When an instance last found the condition to hold. */
    breachedAt: ms(),
    /** When operators were notified; null while the alert is not firing. */
    firedAt: ms(),
    /** When the condition of a firing alert stopped holding. */
    calmSince: ms(),
    /** The last measured value; null if it is unknown. */
    value: real(),
  })
  return { alerts }
}
