import { count, eq, sum } from 'drizzle-orm'
import type { Reader, Tx } from '../../../db/db.ts'
import { AppError } from '../../../lib/errors.ts'
import type { AttachmentsDb } from '../schema.ts'
import type { Row } from './prepare-upload.ts'

type QuotaDeps = { db: AttachmentsDb; maxBytes: number; maxCount: number }

export type Quota = ReturnType<typeof createQuota>

/** How much a person may store: `maxBytes` in `maxCount` files. Variants count by their bytes. */
export function createQuota({ db, maxBytes, maxCount }: QuotaDeps) {
  const { attachments, variants } = db.tables
  return { check, take }

  /** Refuses an upload before a byte of it is read, where there is no room for even one. */
  async function check(userId: string) {
    await ensure(db.read, userId, 1, 1)
  }

  /** Refuses `rows` where they are too much, as part of the change that stores them. */
  async function take(tx: Tx, userId: string, rows: Row[]) {
    await ensure(
      tx,
      userId,
      rows.length,
      rows.reduce((sum, { size }) => sum + size, 0),
    )
  }

  async function ensure(from: Reader, userId: string, files: number, size: number) {
    const [own] = await from
      .select({ count: count(), bytes: sum(attachments.size) })
      .from(attachments)
      .where(eq(attachments.userId, userId))
    const [made] = await from
      .select({ bytes: sum(variants.size) })
      .from(variants)
      .innerJoin(attachments, eq(attachments.key, variants.original))
      .where(eq(attachments.userId, userId))
    // Engines return sums as text or as numbers.
    const used = Number(own?.bytes ?? 0) + Number(made?.bytes ?? 0)
    if (Number(own?.count ?? 0) + files <= maxCount && used + size <= maxBytes) return
    throw new AppError(
      'quota_exceeded',
      `You may keep ${maxCount} files of ${maxBytes} bytes in all: delete some first.`,
    )
  }
}
