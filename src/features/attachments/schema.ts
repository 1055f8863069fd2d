import type { Columns, UsersTable } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type AttachmentsDb = Db<ReturnType<typeof attachmentTables>>

export function attachmentTables(columns: Columns, users: UsersTable) {
  const { table, text, ownedBy, int, ms, json, index, primaryKey } = columns

  const attachments = table(
    'attachments',
    {
      key: text().primaryKey(),
      userId: ownedBy(() => users.id),
      type: text().notNull(),
      fileName: text().notNull(),
      itemType: text().notNull(),
      /** Bytes of the stored file. */
      size: int().notNull(),
      width: int(),
      height: int(),
      createdAt: ms().notNull(),
    },
    (t) => [index('attachments_user').on(t.userId)],
  )

  const variants = table(
    'variants',
    {
      key: text().primaryKey(),
      original: ownedBy(() => attachments.key),
      /** Bytes. */
      size: int().notNull(),
    },
    (t) => [index('variants_original').on(t.original)],
  )

  /** Responses to uploads, for retries. */
  const uploadRetries = table(
    'upload_retries',
    {
      userId: ownedBy(() => users.id),
      retryKey: text().notNull(),
      /** Detects another upload with the same key; null in rows of older versions. */
      fingerprint: text(),
      answer: json<unknown>().notNull(),
      expiresAt: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.retryKey] })],
  )

  return { attachments, variants, uploadRetries }
}
