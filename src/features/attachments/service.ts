import { and, eq } from 'drizzle-orm'
import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError, accountDeleted, invalidField, notFound } from '../../lib/errors.ts'
import type { Tx } from '../../platform/db/db.ts'
import { prepareFind } from '../../platform/db/prepared.ts'
import type { ExistingUsers } from '../../platform/user-table.ts'
import type { VariantOptions, Variants } from './images/variants.ts'
import type { AttachmentsDb } from './schema.ts'
import type { FileUrls } from './storage/file-urls.ts'
import type { Files } from './storage/files.ts'
import { finishRemovals } from './storage/removal.ts'
import type { IdempotencyStore, RecordReply } from './upload/idempotency.ts'
import type { createPreparer, PreparedUpload, Row, UploadOptions } from './upload/prepare-upload.ts'
import type { Quota } from './upload/quota.ts'
import type { Upload } from './upload/receive-uploads.ts'
import type { Staging } from './upload/staging.ts'

type AttachmentsDeps = {
  db: AttachmentsDb
  files: Files
  staging: Staging
  prepare: ReturnType<typeof createPreparer>
  variants: Variants
  quota: Quota
  idempotency: IdempotencyStore
  urls: FileUrls
  existingUsers: ExistingUsers
  /** Removes the user's avatar if it is the file with this key. */
  clearAvatar: (tx: Tx, userId: string, key: string) => Promise<void>
  /** Called for each stored file of a support ticket. */
  onSupportFile: (tx: Tx, file: AddedFile) => Promise<void>
}

export type AddedFile = ReturnType<typeof toAddedFile>

export type Attachments = ReturnType<typeof createAttachments>

const MAX_CACHED_ROWS = 5_000
/** Short, because another instance may delete the file. */
const ROW_CACHE_MS = 5_000

export function createAttachments(deps: AttachmentsDeps) {
  const { db, files, staging, prepare, variants, quota, idempotency, urls } = deps
  const { existingUsers, clearAvatar, onSupportFile } = deps
  const { attachments } = db.tables
  const findRow = prepareFind(db, attachments)
  const cachedRows = new Map<string, { row: Row; until: number }>()
  const beingStored = new Set<string>()
  return {
    store,
    isBeingStored: (key: string) => beingStored.has(key),
    toDetails,
    ownsPublicPicture,
    remove,
    removeAll,
    moveAll,
    open,
    openVariant,
  }

  /**
   * Stores all uploads or none, and deletes their staged files. A retry of the same upload with `retryKey` gets the
   * first response.
   */
  async function store(
    userId: string,
    retryKey: string | null,
    receive: () => Promise<Upload[]>,
    options: UploadOptions,
    { baseUrl, ip }: { baseUrl: string; ip: string },
  ) {
    await checkQuota(userId, retryKey)
    const uploads = await receive()
    const stored = await idempotency
      .once(userId, retryKey, computeFingerprint(uploads, options), (recordReply) =>
        storeAll(userId, ip, uploads, options, recordReply),
      )
      .finally(() => staging.discard(uploads))
    return stored.map(({ key, type, fileName, itemType }) => ({
      key,
      fileName,
      itemType,
      url: urls.linkTo({ key, type }, baseUrl).url,
    }))
  }

  /** A retry needs no additional space. Another instance may store the upload during the check. */
  async function checkQuota(userId: string, retryKey: string | null) {
    if (await idempotency.isKnown(userId, retryKey)) return
    try {
      await quota.check(userId)
    } catch (error) {
      if (!(await idempotency.isKnown(userId, retryKey))) throw error
    }
  }

  async function storeAll(
    userId: string,
    ip: string,
    uploads: Upload[],
    options: UploadOptions,
    recordReply: RecordReply,
  ) {
    const prepared: PreparedUpload[] = []
    const kept: string[] = []
    let mayBeStored = false
    try {
      if (uploads.length === 0) throw noFile()
      for (const upload of uploads) prepared.push(await prepare(userId, ip, upload, options))
      for (const { path, row } of prepared) {
        kept.push(row.key)
        beingStored.add(row.key)
        await files.keep(path, row.key)
      }
      const rows = prepared.map(({ row }) => row)
      const evictedKeys = await db
        .write(async (tx) => {
          if ((await existingUsers(tx, [userId])).length === 0) throw accountDeleted(userId)
          await recordReply(tx, rows)
          const evictedKeys = await quota.take(tx, userId, rows)
          await tx.insert(attachments).values(rows)
          if (options.type === 'supportTicket')
            for (const row of rows) await onSupportFile(tx, toAddedFile(row))
          return evictedKeys
        })
        .catch((error) => {
          mayBeStored = error instanceof AppError && error.code === 'unavailable'
          throw error
        })
      await finishRemovals(evictedKeys.map(variants.drop))
      return rows
    } catch (error) {
      // If the outcome is unknown, files without a row are deleted later as orphans.
      if (!mayBeStored) await finishRemovals(kept.map(files.remove))
      throw error
    } finally {
      for (const key of kept) beingStored.delete(key)
      await staging.discard(prepared)
    }
  }

  /** With a fresh URL. */
  async function toDetails(userId: string, key: string, baseUrl: string) {
    const row = await find(key)
    if (row?.userId !== userId) throw notFound()
    const { fileName, itemType, size, width, height, createdAt } = row
    return {
      key,
      fileName,
      itemType,
      size,
      ...(width === null || height === null ? {} : { width, height }),
      ...urls.linkTo(row, baseUrl),
      createdAt: createdAt.toISOString(),
    }
  }

  async function ownsPublicPicture(tx: Tx, userId: string, key: string): Promise<boolean> {
    const row = await findRow(tx, { key })
    return row?.userId === userId && row.type === 'publicAsset'
  }

  /** In the caller's transaction. */
  async function moveAll(tx: Tx, from: string, to: string) {
    await tx.update(attachments).set({ userId: to }).where(eq(attachments.userId, from))
  }

  async function remove(userId: string, key: string) {
    const removedVariants = await db.write(async (tx) => {
      await clearAvatar(tx, userId, key)
      const variantKeys = await variants.findKeys(tx, key)
      const rows = await tx
        .delete(attachments)
        .where(and(eq(attachments.key, key), eq(attachments.userId, userId)))
        .returning({ key: attachments.key })
      return rows.length === 0 ? null : variantKeys
    })
    if (removedVariants === null) throw notFound()
    cachedRows.delete(key)
    await finishRemovals([...removedVariants.map(variants.drop), files.remove(key)])
  }

  /** In the caller's transaction. The returned function deletes the files afterwards. */
  async function removeAll(tx: Tx, userId: string): Promise<() => Promise<void>> {
    const userVariants = await variants.list(userId, tx)
    const removed = await tx
      .delete(attachments)
      .where(eq(attachments.userId, userId))
      .returning({ key: attachments.key })
    return async () => {
      const keys = removed.map(({ key }) => key)
      for (const key of keys) cachedRows.delete(key)
      await finishRemovals([
        ...userVariants.map(({ key }) => variants.drop(key)),
        ...keys.map(files.remove),
      ])
    }
  }

  /** Opens the file at a URL. A private file needs the signature in that URL. */
  async function open(key: string, expires: string | undefined, signature: string | undefined) {
    const row = await findReadable(key, expires, signature)
    const opened = row && (await files.open(key))
    if (!row || !opened) throw notFound()
    return { row, ...opened }
  }

  /** Opens a variant of the image at a URL. The first request makes and stores it. */
  async function openVariant(
    key: string,
    expires: string | undefined,
    signature: string | undefined,
    wanted: VariantOptions,
    onWait: () => string,
  ) {
    const row = await findReadable(key, expires, signature)
    if (!row) throw notFound()
    return { row, ...(await variants.open(row, wanted, onWait)) }
  }

  async function findReadable(
    key: string,
    expires: string | undefined,
    signature: string | undefined,
  ) {
    const row = await findServed(key)
    const mayRead = row?.type === 'publicAsset' || urls.isSigned(key, expires, signature)
    return mayRead ? row : undefined
  }

  async function find(key: string): Promise<Row | undefined> {
    if (!/^[a-z0-9]{26}\.[a-z0-9]{2,5}$/.test(key)) return undefined
    return findRow(db.read, { key })
  }

  /** Caches rows for serving, which uses only fields that never change. */
  async function findServed(key: string): Promise<Row | undefined> {
    const known = cachedRows.get(key)
    if (known && performance.now() < known.until) return known.row
    const row = await find(key)
    if (cachedRows.size >= MAX_CACHED_ROWS) cachedRows.clear()
    if (row) cachedRows.set(key, { row, until: performance.now() + ROW_CACHE_MS })
    else cachedRows.delete(key)
    return row
  }
}

/** Identifies an upload by its options, file names and hashes. */
function computeFingerprint(uploads: Upload[], options: UploadOptions): string {
  const files = uploads.map(({ fileName, hash }) => [fileName, hash])
  return sha256(JSON.stringify([options, files]))
}

function noFile(): AppError {
  return invalidField('body', 'must have a part with a file name', 'The form has no file.')
}

function toAddedFile({ userId, key, type, fileName, itemType, size, createdAt }: Row) {
  return { userId, key, type, fileName, itemType, size, createdAt: createdAt.toISOString() }
}
