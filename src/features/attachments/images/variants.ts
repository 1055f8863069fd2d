import { asc, eq } from 'drizzle-orm'
import { AppError, invalidField, notFound } from '../../../lib/errors.ts'
import { createLruMap } from '../../../lib/lru-map.ts'
import { MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { AttachmentsDb } from '../schema.ts'
import { noSpace } from '../storage/disk-space.ts'
import type { Files } from '../storage/files.ts'
import { finishRemovals } from '../storage/removal.ts'
import { isImage } from '../upload/media-types.ts'
import { imageRefusal, type Row } from '../upload/prepare-upload.ts'
import type { Quota } from '../upload/quota.ts'
import type { Staging } from '../upload/staging.ts'
import type { ImageFormat } from './containers.ts'
import type { MakeImage } from './image-queue.ts'

export const WIDTHS = [64, 128, 256, 512, 1024, 2048] as const
export type VariantOptions = { width: number; format: ImageFormat | null }

type VariantsDeps = {
  db: AttachmentsDb
  files: Files
  staging: Staging
  quota: Pick<Quota, 'storeVariant'>
  makeImage: MakeImage
  now: () => Date
}
export type Variants = ReturnType<typeof createVariants>

type Opened = { file: Blob; size: number }

const QUALITY = 80
/** At most 256 files of 64 KiB, 16 MiB in all, are kept in memory. */
const CACHED_FILE_BYTES = 64 * 1024
const MAX_CACHED_FILES = 256
/** Short, because a busy machine recovers and owners may free space. */
const UNREADABLE_CACHE_MS = 10 * MINUTE_MS
const NO_SPACE_CACHE_MS = MINUTE_MS
const MAX_CACHED_FAILURES = 5_000

/** Images in the widths that apps need, each made once and stored beside its original. */
export function createVariants({ db, files, staging, quota, makeImage, now }: VariantsDeps) {
  const { variants, attachments } = db.tables
  const inFlight = new Map<string, Promise<void>>()
  const memoryCache = new Map<string, Opened>()
  const failures = createLruMap<string, { error: AppError; until: number }>(MAX_CACHED_FAILURES)
  return { open, list, findKeys, drop }

  /** The first request makes the variant; others wait. Each calls `onWait`, which returns the requester's IP. */
  async function open(
    row: Row,
    { width: requested, format }: VariantOptions,
    onWait: () => string,
  ) {
    if (!isImage(row.itemType))
      throw invalidField('width', 'is only for images', 'Only images have variants.')
    const itemType = format ? `image/${format}` : row.itemType
    // Images are never enlarged: all larger widths share one file.
    const width = Math.min(
      requested,
      WIDTHS.find((candidate) => candidate >= (row.width ?? requested)) ?? requested,
    )
    const key = `${row.key}.w${width}.${itemType.slice('image/'.length)}`
    const opened = memoryCache.get(key) ?? (await openStored(key))
    if (opened) return { ...opened, itemType, etag: key }
    const failed = failures.get(key)
    if (failed && now().getTime() < failed.until) throw failed.error
    const ip = onWait()
    const making =
      inFlight.get(key) ??
      make(row, key, width, itemType, ip)
        .catch((error) => cacheFailure(key, error))
        .finally(() => inFlight.delete(key))
    inFlight.set(key, making)
    await making
    const made = await openStored(key)
    if (made) return { ...made, itemType, etag: key }
    // The original was deleted, or the variant was evicted immediately.
    throw (await files.open(row.key)) ? noSpace() : notFound()
  }

  /** Caches a failure, so that the next request fails without a job, and rethrows it. */
  function cacheFailure(key: string, error: unknown): never {
    const code = error instanceof AppError ? error.code : null
    const isImageError = code === 'image_unreadable' || code === 'image_too_large'
    if (error instanceof AppError && (isImageError || code === 'insufficient_storage')) {
      const until = now().getTime() + (isImageError ? UNREADABLE_CACHE_MS : NO_SPACE_CACHE_MS)
      failures.set(key, { error, until })
    }
    throw error
  }

  async function list(userId: string, from: Reader = db.read) {
    return from
      .select({ key: variants.key, original: variants.original })
      .from(variants)
      .innerJoin(attachments, eq(attachments.key, variants.original))
      .where(eq(attachments.userId, userId))
      .orderBy(asc(variants.key))
  }

  /** The keys of an original's variants, whose rows are deleted with the original. */
  async function findKeys(tx: Tx, original: string): Promise<string[]> {
    const rows = await tx.select().from(variants).where(eq(variants.original, original))
    return rows.map(({ key }) => key)
  }

  async function drop(key: string) {
    memoryCache.delete(key)
    await files.remove(key)
  }

  /** Keeps small variants, such as avatars, in memory. */
  async function openStored(key: string): Promise<Opened | null> {
    const stored = await files.open(key)
    if (stored === null || stored.size > CACHED_FILE_BYTES) return stored
    const opened = { file: new Blob([await stored.file.arrayBuffer()]), size: stored.size }
    if (memoryCache.size >= MAX_CACHED_FILES) memoryCache.clear()
    memoryCache.set(key, opened)
    return opened
  }

  async function make(row: Row, key: string, width: number, itemType: string, ip: string) {
    const original = await files.open(row.key)
    if (!original?.file.name) throw notFound()
    const output = await staging.newPath()
    try {
      const format = itemType.slice('image/'.length) as ImageFormat
      const job = { input: original.file.name, output, format, quality: QUALITY, width }
      const result = await makeImage(job, { ip, userId: null })
      if (result.kind !== 'made') {
        const isDeleted = (await files.open(row.key)) === null
        throw isDeleted ? notFound() : imageRefusal(result.kind)
      }
      await files.keep(output, key)
      await storeRow(row, { key, original: row.key, size: result.size })
    } finally {
      await staging.discard([{ path: output }])
    }
  }

  /** Stores the row, or drops the file if the original was deleted or there is no room. */
  async function storeRow(row: Row, variant: typeof variants.$inferInsert) {
    try {
      const droppedKeys = await db.write(async (tx) => {
        const rows = await tx.select().from(attachments).where(eq(attachments.key, row.key))
        return rows.length === 0 ? [variant.key] : await quota.storeVariant(tx, row, variant)
      })
      await finishRemovals(droppedKeys.map(drop))
    } catch (error) {
      await finishRemovals([drop(variant.key)])
      throw error
    }
  }
}

/** The key of the original, from its own key or that of a variant. */
export function toOriginalKey(key: string): string {
  return key.split('.').slice(0, 2).join('.')
}
