import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type PublicationsDb = Db<ReturnType<typeof publicationTables>>

export function publicationTables(columns: Columns) {
  const { table, text, int, ms, json, primaryKey } = columns

  const publications = table(
    'publications',
    {
      /** `settings`, `plans`, `faqs` or `emails`. */
      kind: text().notNull(),
      version: int().notNull(),
      content: json<unknown>().notNull(),
      /** The operator's name; null for a command, and for content from before versioning. */
      author: text(),
      note: text().notNull(),
      publishedAt: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.kind, t.version] })],
  )

  return { publications }
}
