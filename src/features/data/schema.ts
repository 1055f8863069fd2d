import type { Columns, UsersTable } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type DataDb = Db<ReturnType<typeof dataTables>>

/** Who writes a document: the app, or servers with a key. */
export type Author = 'app' | 'server'

export type JsonObject = Record<string, unknown>

/** A user without a row has an empty document. */
export function dataTables(columns: Columns, users: UsersTable) {
  const { table, text, ownedBy, ms, json, primaryKey } = columns

  const userDocuments = table(
    'user_documents',
    {
      userId: ownedBy(() => users.id),
      author: text().$type<Author>().notNull(),
      content: json<JsonObject>().notNull(),
      /** A hash of the content. */
      version: text().notNull(),
      updatedAt: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.author] })],
  )

  return { userDocuments }
}
