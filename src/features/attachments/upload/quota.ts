import { and, count, desc, eq, ne, type SQL, sum } from 'drizzle-orm'
import { AppError } from '../../../lib/errors.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { AttachmentsDb } from '../schema.ts'
import { noSpace } from '../storage/disk-space.ts'
import type { Row } from './prepare-upload.ts'

type QuotaDeps = { db: AttachmentsDb; maxBytes: number; maxCount: number }
type Variant = AttachmentsDb['tables']['variants']['$inferSelect']

export type Quota = ReturnType<typeof createQuota>

/** Per image: enough for six variants of a photo in WebP and JPEG, or a large one in PNG. */
const MAX_VARIANT_BYTES = 8 * 1024 * 1024

/**
 * A user can store `maxBytes` in `maxCount` files. Variants count, but are evicted for the owner's uploads; a new
 * variant evicts the largest.
 */
export function createQuota({ db, maxBytes, maxCount }: QuotaDeps) {
  const { attachments, variants } = db.tables
  return { check, take, storeVariant }

  /** Refuses an upload, before it is read, if there is no room for any file. */
  async function check(userId: string) {
    await ensureRoom(db.read, userId, 1, 1)
  }

  /** In the transaction that stores `rows`. The caller drops the returned keys of evicted variants after the commit. */
  async function take(tx: Tx, userId: string, rows: Row[]): Promise<string[]> {
    const size = rows.reduce((sum, { size }) => sum + size, 0)
    const left = await ensureRoom(tx, userId, rows.length, size)
    return await evict(tx, eq(attachments.userId, userId), left)
  }

  /** Stores the row of a variant, or throws `insufficient_storage`. Returns the keys of evicted variants. */
  async function storeVariant(tx: Tx, { key, userId }: Row, variant: Variant): Promise<string[]> {
    const { bytes } = await readSum(tx, userId)
    const limit = Math.min(MAX_VARIANT_BYTES, maxBytes - bytes)
    if (variant.size > limit) throw noSpace()
    const isOther = ne(variants.key, variant.key)
    const siblings = and(eq(variants.original, key), isOther)
    const others = and(eq(attachments.userId, userId), isOther)
    const evictedKeys = [
      ...(await evict(tx, siblings, MAX_VARIANT_BYTES - variant.size)),
      ...(await evict(tx, others, maxBytes - bytes - variant.size)),
    ]
    await tx.insert(variants).values(variant).onConflictDoNothing()
    return evictedKeys
  }

  /** Deletes variants until the rest fit into `limit` bytes. Returns the deleted keys. */
  async function evict(tx: Tx, condition: SQL | undefined, limit: number): Promise<string[]> {
    const isOriginal = eq(attachments.key, variants.original)
    const [stored] = await tx
      .select({ bytes: sum(variants.size) })
      .from(variants)
      .innerJoin(attachments, isOriginal)
      .where(condition)
    let used = Number(stored?.bytes ?? 0)
    // Loads the rows only if some must go: a user may have thousands.
    if (used <= limit) return []
    const rows = await tx
      .select({ key: variants.key, size: variants.size })
      .from(variants)
      .innerJoin(attachments, isOriginal)
      .where(condition)
      .orderBy(desc(variants.size), variants.key)
    const evictedKeys: string[] = []
    for (const { key, size } of rows) {
      if (used <= limit) break
      await tx.delete(variants).where(eq(variants.key, key))
      evictedKeys.push(key)
      used -= size
    }
    return evictedKeys
  }

  /** Throws `quota_exceeded` unless the files fit. Returns the bytes that remain for variants. */
  async function ensureRoom(from: Reader, userId: string, files: number, size: number) {
    const stored = await readSum(from, userId)
    const left = maxBytes - stored.bytes - size
    if (stored.files + files <= maxCount && left >= 0) return left
    throw new AppError(
      'quota_exceeded',
      `You can store at most ${maxCount} files and ${maxBytes} bytes in total. Delete some first.`,
    )
  }

  async function readSum(from: Reader, userId: string) {
    const [stored] = await from
      .select({ files: count(), bytes: sum(attachments.size) })
      .from(attachments)
      .where(eq(attachments.userId, userId))
    // Some database engines return sums as text, others as numbers.
    return { files: Number(stored?.files ?? 0), bytes: Number(stored?.bytes ?? 0) }
  }
}
