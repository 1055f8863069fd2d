import type { Columns, UsersTable } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type OutboxDb = Db<ReturnType<typeof outboxTables>>

export function outboxTables(columns: Columns, users: UsersTable) {
  const { table, text, int, ms, index } = columns

  /** Messages waiting to be sent. The content is sealed, because it may contain a token. */
  const outbox = table(
    'outbox',
    {
      id: text().primaryKey(),
      kind: text().notNull(),
      content: text().notNull(),
      attempts: int().notNull(),
      dueAt: ms().notNull(),
      /** The user whose data it contains; deleting the account deletes the message. */
      userId: text().references(() => users.id, { onDelete: 'cascade' }),
      priority: int().notNull().default(1),
      /** A hash of its cause, such as an IP address, so that one source does not delay others. */
      source: text(),
    },
    (t) => [
      index('outbox_user').on(t.userId),
      index('outbox_due').on(t.dueAt, t.priority, t.source),
    ],
  )

  return { outbox }
}
