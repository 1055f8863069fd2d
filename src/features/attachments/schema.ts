import type { Columns, UsersTable } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type AttachmentsDb = Db<ReturnType<typeof attachmentTables>>

/** Files of people, pictures made of them, and returns to uploads. */
export function attachmentTables(columns: Columns, users: UsersTable) {
  const { table, text, int, ms, json, index, primaryKey } = columns

  const attachments = table(
    'attachments',
    {
      key: text().primaryKey(),
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      type: text().notNull(),
      fileName: text().notNull(),
      itemType: text().notNull(),
      /** Bytes of what is stored. */
      size: int().notNull(),
      width: int(),
      height: int(),
      createdAt: ms().notNull(),
    },
    (t) => [index('attachments_user').on(t.userId)],
  )

  /** Pictures in other sizes, each beside its original. */
  const variants = table(
    'variants',
    {
      key: text().primaryKey(),
      original: text()
        .notNull()
        .references(() => attachments.key, { onDelete: 'cascade' }),
      /** Bytes. */
      size: int().notNull(),
    },
    (t) => [index('variants_original').on(t.original)],
  )

  /** Answers to uploads, for those that come again. */
  const uploadRetries = table(
    'upload_retries',
    {
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      retryKey: text().notNull(),
      /** SHA-256 of what was sent, so that another upload under the same key is told apart; null before it was kept. */
      fingerprint: text(),
      answer: json<unknown>().notNull(),
      expiresAt: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.retryKey] })],
  )

  return { attachments, variants, uploadRetries }
}
