import type { Columns } from './db/columns.ts'
import { encryptionTables } from './encryption/schema.ts'
import { attachmentTables } from './features/attachments/schema.ts'
import { billingTables } from './features/billing/schema.ts'
import { contentTables } from './features/content/schema.ts'
import { peopleTables } from './features/people/schema.ts'
import { planTables } from './features/plans/schema.ts'
import { rateTables } from './features/rates/schema.ts'
import { settingsTables } from './features/settings/schema.ts'
import { limitTables } from './limits/schema.ts'
import { outboxTables } from './outbox/schema.ts'

export type Tables = ReturnType<typeof buildTables>

/** Every table, one line a feature. Ids are UUIDv7 text made by the program. */
export function buildTables(columns: Columns) {
  const people = peopleTables(columns)
  return {
    ...people,
    ...attachmentTables(columns, people.users),
    ...billingTables(columns),
    ...settingsTables(columns),
    ...planTables(columns),
    ...contentTables(columns),
    ...rateTables(columns),
    ...outboxTables(columns),
    ...limitTables(columns),
    ...encryptionTables(columns),
  }
}
