import { eq, sql } from 'drizzle-orm'
import type { Reader, Tx } from '../../../db/db.ts'
import { AppError } from '../../../lib/errors.ts'
import type { AttachmentsDb } from '../schema.ts'
import type { Row } from './preparing.ts'

export type QuotaDeps = { db: AttachmentsDb; bytes: number; count: number }

export type Quota = ReturnType<typeof createQuota>

/** How much a person may store: `bytes` and `count` of files. Variants count by their bytes. */
export function createQuota({ db, bytes, count }: QuotaDeps) {
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
    const total = sql<number>`coalesce(sum(${attachments.size}), 0)`
    const [own] = await from
      .select({ count: sql<number>`count(*)`, bytes: total })
      .from(attachments)
      .where(eq(attachments.userId, userId))
    const [made] = await from
      .select({ bytes: sql<number>`coalesce(sum(${variants.size}), 0)` })
      .from(variants)
      .innerJoin(attachments, eq(attachments.key, variants.original))
      .where(eq(attachments.userId, userId))
    const used = (own?.bytes ?? 0) + (made?.bytes ?? 0)
    if ((own?.count ?? 0) + files <= count && used + size <= bytes) return
    throw new AppError(
      'quota_exceeded',
      `You may keep ${count} files of ${bytes} bytes in all: delete some first.`,
    )
  }
}
