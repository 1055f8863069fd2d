import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type PublicationsDb = Db<ReturnType<typeof publicationTables>>

/** Every version of what is edited and published. */
export function publicationTables(columns: Columns) {
  const { table, text, int, ms, json, primaryKey } = columns

  const publications = table(
    'publications',
    {
      /** What was published: `settings`, `plans` or `faqs`. */
      kind: text().notNull(),
      /** 1 for the first, and so on. */
      version: int().notNull(),
      content: json<unknown>().notNull(),
      /** The name of the operator; null for a command, and for what was there before versions were kept. */
      author: text(),
      note: text().notNull(),
      publishedAt: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.kind, t.version] })],
  )

  return { publications }
}
