import { rm } from 'node:fs/promises'
import { extname } from 'node:path'
import { and, eq, sql } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Tx } from '../../db/write.ts'
import { AppError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { type Files, noSpace, type Staged } from './files.ts'
import type { ImageFormat } from './image.ts'
import type { ImageWorker } from './image-worker.ts'
import { extensionOf, isImage, sniff } from './kinds.ts'
import type { UrlSigner } from './signed-url.ts'
import type { Upload } from './upload.ts'

export type AttachmentsDeps = {
  db: Db
  files: Files
  makeImage: ImageWorker['make']
  signer: UrlSigner
  now: () => Date
  newKey: () => string
  log: Log
}

export type Wish = {
  type: 'supportTicket' | 'publicAsset'
  compression: boolean
  targetType: ImageFormat | null
}

export type Attachments = ReturnType<typeof createAttachments>

const COMPRESSED = { quality: 80, longSide: 2_560 }
const FAITHFUL = { quality: 90, longSide: 8_192 }
const RESULT_LIMIT = 25 * 1024 * 1024

type Row = Db['tables']['attachments']['$inferSelect']
/** A file ready to be kept, and the row that will tell of it. */
type Prepared = { path: string; row: Row }

export function createAttachments(deps: AttachmentsDeps) {
  const { db, files, makeImage, signer, now, newKey, log } = deps
  const { attachments, users } = db.tables
  const byKey = db.read
    .select()
    .from(attachments)
    .where(eq(attachments.key, sql.placeholder('key')))
    .prepare()
  return { store, describe, list, remove, removeAllOf, moveAll, open, discard, collectOrphans }

  /** Stores all of `uploads` or none. They are gone from the temporary folder in any case. */
  async function store(userId: string, uploads: Upload[], wish: Wish, baseUrl: string) {
    const prepared: Prepared[] = []
    const kept: string[] = []
    try {
      if (uploads.length === 0) throw noFile()
      for (const upload of uploads) prepared.push(await prepare(userId, upload, wish))
      for (const { path, row } of prepared) {
        kept.push(row.key)
        await files.keep(path, row.key)
      }
      await db.write(async (tx) => {
        const owner = await tx.select({ id: users.id }).from(users).where(eq(users.id, userId))
        if (owner.length === 0) throw accountGone()
        await tx.insert(attachments).values(prepared.map(({ row }) => row))
      })
    } catch (error) {
      for (const key of kept) await files.remove(key)
      throw error
    } finally {
      await discard([...uploads, ...prepared])
    }
    return prepared.map(({ row }) => ({
      key: row.key,
      fileName: row.fileName,
      itemType: row.itemType,
      url: urlOf(row, baseUrl).url,
    }))
  }

  /** What is known of an own file, with a fresh URL. */
  async function describe(userId: string, key: string, baseUrl: string) {
    const row = await find(key)
    if (row?.userId !== userId) throw unknownFile()
    const { fileName, itemType, size, width, height, createdAt } = row
    return {
      key,
      fileName,
      itemType,
      size,
      ...(width === null || height === null ? {} : { width, height }),
      ...urlOf(row, baseUrl),
      createdAt: createdAt.toISOString(),
    }
  }

  /** What a user has stored, for the export. */
  async function list(userId: string) {
    const rows = await db.read.select().from(attachments).where(eq(attachments.userId, userId))
    return rows.map(({ key, type, fileName, itemType, size, createdAt }) => ({
      key,
      type,
      fileName,
      itemType,
      size,
      createdAt: createdAt.toISOString(),
    }))
  }

  /** Gives all files of one user to another as part of the change. */
  async function moveAll(tx: Tx, from: string, to: string) {
    await tx.update(attachments).set({ userId: to }).where(eq(attachments.userId, from))
  }

  async function remove(userId: string, key: string) {
    const removed = await db.write((tx) =>
      tx
        .delete(attachments)
        .where(and(eq(attachments.key, key), eq(attachments.userId, userId)))
        .returning({ key: attachments.key }),
    )
    if (removed.length === 0) throw unknownFile()
    await files.remove(key)
  }

  /** Removes a user's rows as part of the change; the answer removes the files after it. */
  async function removeAllOf(tx: Tx, userId: string): Promise<() => Promise<void>> {
    const removed = await tx
      .delete(attachments)
      .where(eq(attachments.userId, userId))
      .returning({ key: attachments.key })
    // A file that stays is an orphan and collected later: the account is gone in any case.
    return async () => {
      await Promise.allSettled(removed.map(({ key }) => files.remove(key)))
    }
  }

  /** Removes files that have no row, and says loudly which rows have no file. */
  async function collectOrphans(signal: AbortSignal) {
    for await (const key of files.oldKeys(now())) {
      if (signal.aborted) return
      if (!(await find(key))) await files.remove(key)
    }
    for (const { key } of await db.read.select({ key: attachments.key }).from(attachments)) {
      if (signal.aborted) return
      if (!(await files.open(key))) log.error({ key }, 'the file of an attachment is missing')
    }
  }

  /** The bytes behind a URL. A private one needs the signature that `describe` gave. */
  async function open(key: string, expires: string | undefined, signature: string | undefined) {
    const row = await find(key)
    const mayRead = row?.type === 'publicAsset' || signer.verify(key, expires, signature)
    const opened = row && mayRead ? await files.open(key) : null
    if (!row || !opened) throw unknownFile()
    return { row, ...opened }
  }

  async function discard(temporary: Pick<Staged, 'path'>[]) {
    for (const { path } of temporary) await rm(path, { force: true })
  }

  async function prepare(userId: string, upload: Upload, wish: Wish): Promise<Prepared> {
    const itemType = await sniff(upload)
    if (itemType === null || (wish.type === 'publicAsset' && !isImage(itemType))) {
      throw wrongKind(wish.type)
    }
    const made = await convert(upload, itemType, wish)
    const extension = extensionOf(made.itemType)
    const row = {
      key: `${newKey()}.${extension}`,
      userId,
      type: wish.type,
      fileName: cleanName(upload.fileName, extension),
      itemType: made.itemType,
      size: made.size,
      width: made.width,
      height: made.height,
      createdAt: now(),
    }
    return { path: made.path, row }
  }

  /** The file as it will be kept: its own bytes, or a picture made of it. */
  async function convert(upload: Upload, itemType: string, wish: Wish) {
    const unchanged = { path: upload.path, size: upload.size, itemType, width: null, height: null }
    const { type, compression, targetType } = wish
    if (!isImage(itemType)) {
      if (targetType === null) return unchanged
      throw new AppError(
        'unsupported_media_type',
        'Only pictures (JPEG, PNG, WebP) can be converted.',
      )
    }
    if (type === 'supportTicket' && !compression && targetType === null) return unchanged
    const format = targetType ?? (itemType.slice('image/'.length) as ImageFormat)
    const output = await files.newTemporary()
    const settings = compression ? COMPRESSED : FAITHFUL
    try {
      const result = await makeImage({ input: upload.path, output, format, ...settings })
      if (result.kind === 'unreadable') throw unreadable()
      if (result.kind === 'no_space') throw noSpace()
      if (result.kind === 'too_large' || result.size > RESULT_LIMIT) throw imageTooLarge()
      if (targetType === null && type === 'supportTicket' && result.size >= upload.size) {
        await discard([{ path: output }])
        return unchanged
      }
      const { size, width, height } = result
      return { path: output, size, itemType: `image/${format}`, width, height }
    } catch (error) {
      await discard([{ path: output }])
      throw error
    }
  }

  async function find(key: string): Promise<Row | undefined> {
    if (!/^[a-z0-9]{26}\.[a-z0-9]{2,5}$/.test(key)) return undefined
    const [row] = await byKey.execute({ key })
    return row
  }

  function urlOf({ key, type }: Row, baseUrl: string): { url: string; expiresAt: string | null } {
    const path = `${baseUrl}/files/${key}`
    if (type === 'publicAsset') return { url: path, expiresAt: null }
    const { query, expiresAt } = signer.sign(key)
    return { url: `${path}?${query}`, expiresAt: expiresAt.toISOString() }
  }
}

/** The sender's name for the file, fit to be shown: no path, no control characters, the true extension. */
export function cleanName(name: string, extension: string): string {
  const base = name
    .replace(/^.*[/\\]/s, '')
    .replace(/[\p{C}\u2028\u2029]/gu, '')
    .trim()
  const stem = base.slice(0, base.length - extname(base).length).replace(/^\.+/, '')
  // Cut by characters: half an emoji is none.
  const short = [...stem.toWellFormed()].slice(0, 100).join('')
  return `${short || 'file'}.${extension}`
}

function accountGone(): AppError {
  return new AppError('unauthenticated', 'This account is no more.')
}

function unknownFile(): AppError {
  return new AppError('not_found', 'There is nothing here.')
}

function noFile(): AppError {
  return new AppError('validation_failed', 'The form has no file.', {
    details: [{ path: 'body', message: 'must have a part with a file name' }],
  })
}

function wrongKind(type: Wish['type']): AppError {
  const allowed =
    type === 'publicAsset'
      ? 'a JPEG, PNG or WebP picture (HEIC: save it as JPEG)'
      : 'a JPEG, PNG or WebP picture, PDF, text, JSON, ZIP or MP4'
  return new AppError(
    'unsupported_media_type',
    `Send ${allowed}. The content decides, not the name.`,
  )
}

function unreadable(): AppError {
  return new AppError('image_unreadable', 'The picture is damaged and cannot be read.')
}

function imageTooLarge(): AppError {
  return new AppError(
    'image_too_large',
    'The picture is too large: 64 megapixels and 25 MiB at most.',
  )
}
