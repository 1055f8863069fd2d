import type { Columns, UsersTable } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type OutboxDb = Db<ReturnType<typeof outboxTables>>

/** What the outbox keeps. */
export function outboxTables(columns: Columns, users: UsersTable) {
  const { table, text, int, ms, index } = columns

  /** What is still to be sent to the outside. The content is sealed: it may hold a token. */
  const outbox = table(
    'outbox',
    {
      id: text().primaryKey(),
      kind: text().notNull(),
      content: text().notNull(),
      attempts: int().notNull(),
      dueAt: ms().notNull(),
      /** The user whose data it holds: it is removed with the account. */
      userId: text().references(() => users.id, { onDelete: 'cascade' }),
      /** Lower numbers are sent first. */
      priority: int().notNull().default(1),
      /** A hash of what caused it, such as an IP address: one cause does not delay the messages of others. */
      source: text(),
    },
    (t) => [
      index('outbox_user').on(t.userId),
      index('outbox_due').on(t.dueAt, t.priority, t.source),
    ],
  )

  return { outbox }
}
