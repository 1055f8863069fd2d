import type { Columns, UsersTable } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type ChangesDb = Db<ReturnType<typeof changeTables>>

export function changeTables(columns: Columns, users: UsersTable) {
  const { table, text, index } = columns

  const userChanges = table(
    'user_changes',
    {
      /** The user id and the kind; only the kind for a change that concerns every user. */
      key: text().primaryKey(),
      /** Null for a change that concerns every user. */
      userId: text().references(() => users.id, { onDelete: 'cascade' }),
      kind: text().notNull(),
      /** The id of the latest change, a UUIDv7. */
      changeId: text().notNull(),
    },
    (t) => [index('user_changes_user').on(t.userId), index('user_changes_change').on(t.changeId)],
  )

  return { userChanges }
}
