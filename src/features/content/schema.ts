import type { LocalText } from '../../lib/text/local-text.ts'
import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type ContentDb = Db<ReturnType<typeof contentTables>>

export function contentTables(columns: Columns) {
  const { table, text, int, json } = columns

  const faqs = table('faqs', {
    id: text().primaryKey(),
    position: int().notNull(),
    question: json<LocalText>().notNull(),
    answer: json<LocalText>().notNull(),
    category: text().notNull(),
  })

  /** One counter per kind of content, incremented in the transaction of every edit. */
  const contentVersions = table('content_versions', {
    name: text().primaryKey(),
    version: int().notNull(),
  })

  return { faqs, contentVersions }
}
