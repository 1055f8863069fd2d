import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type OutboxDb = Db<ReturnType<typeof outboxTables>>

/** What the outbox keeps. */
export function outboxTables(columns: Columns) {
  const { table, text, int, ms } = columns

  /** What is still to be sent to the outside. The content is sealed: it may hold a token. */
  const outbox = table('outbox', {
    id: text().primaryKey(),
    kind: text().notNull(),
    content: text().notNull(),
    attempts: int().notNull(),
    dueAt: ms().notNull(),
  })

  return { outbox }
}
