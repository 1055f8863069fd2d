import type { AttachmentDetails, ListedAttachment } from '../../models.ts'
import { failure, invalidField, notFound } from '../failure.ts'
import type { HandlersFor } from '../operations.ts'
import type { FakeRequest, SentFile } from '../requests.ts'
import { isoTime, type State, type StoredFile, type User } from '../state.ts'

/** How much a user may store. */
export type FileQuota = { files: number; bytes: number }

type Operation = 'uploadAttachments' | 'listAttachments' | 'readAttachment' | 'deleteAttachment'

const EXTENSIONS: Record<string, string> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/heic': 'heic',
  'application/pdf': 'pdf',
  'text/plain': 'txt',
  'application/json': 'json',
  'application/zip': 'zip',
  'video/mp4': 'mp4',
}
const MAX_FILES = 10
const MAX_FILE_BYTES = 25 * 1024 * 1024
const DAY_MS = 86_400_000
const URL_LIFETIME_MS = 15 * 60_000

/** Uploaded files. Images are stored unchanged: only their type follows `targetType`. */
export function createFiles({ users, find, update, clock, url }: State, quota: FileQuota) {
  let count = 0
  const handlers: HandlersFor<Operation> = {
    uploadAttachments: (_input, request) => upload(find(request.userId), request),
    listAttachments: (_input, { userId, query }) => list(find(userId), query),
    readAttachment(_input, { userId, query }): AttachmentDetails {
      const file = find(userId).files.find(({ key }) => key === query['key'])
      if (!file) throw notFound()
      const { key, fileName, itemType, size, width, height } = file
      const pixels = width === undefined || height === undefined ? {} : { width, height }
      const createdAt = isoTime(file.createdAt)
      return { key, fileName, itemType, size, ...pixels, ...linkTo(file), createdAt }
    },
    deleteAttachment(_input, { userId, query }) {
      const user = find(userId)
      const rest = user.files.filter(({ key }) => key !== query['key'])
      if (rest.length === user.files.length) throw notFound()
      if (user.avatarKey === query['key']) update(user, { avatarKey: null })
      user.files = rest
      return { message: 'The file is deleted.' }
    },
  }
  return { handlers, open, exportOf }

  function upload(user: User, { files, query, headers }: FakeRequest) {
    const idempotencyKey = headers['idempotency-key']
    const sent = files.map(({ name, bytes }) => [name, bytes.length])
    const fingerprint = JSON.stringify([query, sent])
    const earlier = user.uploads.find(
      (one) => one.idempotencyKey === idempotencyKey && one.expiresAt > clock.now,
    )
    if (earlier && earlier.fingerprint !== fingerprint) {
      throw failure(
        'validation_failed',
        'This Idempotency-Key was used for another upload. Use a new key for each upload.',
        [{ path: 'Idempotency-Key', message: 'was used for another upload' }],
      )
    }
    const stored = earlier ? [] : store(user, files, query)
    if (idempotencyKey !== undefined && !earlier) {
      const keys = stored.map(({ key }) => key)
      user.uploads.push({ idempotencyKey, fingerprint, keys, expiresAt: clock.now + DAY_MS })
    }
    const replied = earlier ? user.files.filter(({ key }) => earlier.keys.includes(key)) : stored
    return replied.map((file) => {
      const { key, fileName, itemType } = file
      return { key, fileName, itemType, url: linkTo(file).url }
    })
  }

  function store(user: User, files: SentFile[], query: FakeRequest['query']): StoredFile[] {
    checkSize(user, 1, 1)
    if (files.length === 0) {
      throw failure('validation_failed', 'The form has no file.', [
        { path: 'body', message: 'must have a part with a file name' },
      ])
    }
    if (files.length > MAX_FILES) {
      throw failure('validation_failed', `Send at most ${MAX_FILES} files.`, [
        { path: 'body', message: `must have ${MAX_FILES} files or fewer` },
      ])
    }
    if (files.some(({ bytes }) => bytes.length > MAX_FILE_BYTES))
      throw failure('payload_too_large', `A file must not exceed ${MAX_FILE_BYTES} bytes.`)
    const rows = files.map((file) => rowOf(file, query))
    checkSize(
      user,
      rows.length,
      rows.reduce((sum, { size }) => sum + size, 0),
    )
    user.files.push(...rows)
    return rows
  }

  function checkSize(user: User, files: number, bytes: number) {
    const used = user.files.reduce((sum, { size }) => sum + size, 0)
    if (user.files.length + files <= quota.files && used + bytes <= quota.bytes) return
    throw failure(
      'quota_exceeded',
      `You can store at most ${quota.files} files and ${quota.bytes} bytes in total. Delete some first.`,
    )
  }

  function rowOf({ name, type: sentType, bytes }: SentFile, query: FakeRequest['query']) {
    const { type = '', targetType } = query
    if (type !== 'supportTicket' && type !== 'publicAsset')
      throw invalidField('type', 'must be one of supportTicket, publicAsset')
    // A file on a phone has no content here.
    const sniffed = bytes.length === 0 && sentType in EXTENSIONS ? sentType : sniff(bytes)
    const isImage = sniffed?.startsWith('image/') ?? false
    if (sniffed === null || (type === 'publicAsset' && !isImage)) {
      const allowed =
        type === 'publicAsset'
          ? 'a JPEG, PNG, WebP or HEIC image'
          : 'a JPEG, PNG, WebP or HEIC image, PDF, text, JSON, ZIP or MP4'
      throw unsupported(`Send ${allowed}. The content determines the type, not the name.`)
    }
    if (targetType && !isImage)
      throw unsupported('Only images (JPEG, PNG, WebP, HEIC) can be converted.')
    const target = targetType ?? (sniffed === 'image/heic' ? 'jpeg' : null)
    const itemType = target ? `image/${target.replace(/^jpg$/, 'jpeg')}` : sniffed
    const extension = EXTENSIONS[itemType] ?? 'bin'
    return {
      key: `fake${String(++count).padStart(22, '0')}.${extension}`,
      type,
      fileName: `${stemOf(name) || 'file'}.${extension}`,
      itemType,
      size: bytes.length,
      createdAt: clock.now,
      bytes: bytes.slice(),
      ...(sniffed === 'image/png' && bytes.length >= 24 ? pixelsOf(bytes) : {}),
    }
  }

  function list({ files }: User, { limit = '50', after }: FakeRequest['query']) {
    const max = Number(limit)
    if (!Number.isInteger(max) || max < 1 || max > 100)
      throw invalidField('limit', 'must be a whole number from 1 to 100')
    const newest = files.toReversed()
    const at = after === undefined ? -1 : newest.findIndex(({ key }) => after.endsWith(`-${key}`))
    if (after !== undefined && at < 0) {
      throw failure('validation_failed', 'This page does not exist.', [
        { path: 'after', message: 'must be `next` from the previous page' },
      ])
    }
    const page = newest.slice(at + 1, at + 1 + max)
    const last = page.at(-1)
    const hasMore = newest.length > at + 1 + max
    const attachments: ListedAttachment[] = page.map((file) => {
      const { key, fileName, itemType, type, size } = file
      return {
        key,
        type,
        fileName,
        itemType,
        size,
        ...linkTo(file),
        createdAt: isoTime(file.createdAt),
      }
    })
    return { attachments, next: hasMore && last ? `${last.createdAt}-${last.key}` : null }
  }

  /** The URL of a file: permanent for a public file, valid for 15 minutes for a private one. */
  function linkTo({ key, type }: StoredFile): { url: string; expiresAt: string | null } {
    const path = `${url}/files/${key}`
    if (type === 'publicAsset') return { url: path, expiresAt: null }
    const expires = clock.now + URL_LIFETIME_MS
    return { url: `${path}?expires=${expires}&signature=fake`, expiresAt: isoTime(expires) }
  }

  /** The file at a URL. */
  function open(path: string, { expires, signature }: FakeRequest['query']): StoredFile {
    const name = path.slice('/files/'.length)
    const all = [...users.values()].flatMap(({ files }) => files)
    const file = all.find(({ key }) => key === name)
    const isSigned = signature === 'fake' && Number(expires) > clock.now
    if (!file || (file.type !== 'publicAsset' && !isSigned)) throw notFound()
    return file
  }

  function exportOf({ files, uploads }: User) {
    return {
      attachments: files.map(({ key, type, fileName, itemType, size, createdAt }) => {
        return { key, type, fileName, itemType, size, createdAt: isoTime(createdAt), variants: [] }
      }),
      idempotencyKeys: uploads.map(({ idempotencyKey, expiresAt }) => {
        return { idempotencyKey, expiresAt: isoTime(expiresAt) }
      }),
    }
  }
}

function unsupported(message: string) {
  return failure('unsupported_media_type', message)
}

/** The media type by the content; null for an unknown one. */
function sniff(bytes: Uint8Array): string | null {
  if (bytes.length === 0) return null
  const head = String.fromCharCode(...bytes.subarray(0, 16))
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('\x89PNG')) return 'image/png'
  if (/^RIFF.{4}WEBP/s.test(head)) return 'image/webp'
  if (/^.{4}ftyp(heic|heix|mif1|msf1)/s.test(head)) return 'image/heic'
  if (/^.{4}ftyp/s.test(head)) return 'video/mp4'
  if (head.startsWith('%PDF-')) return 'application/pdf'
  if (head.startsWith('PK\x03\x04')) return 'application/zip'
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: text has none of these
    if (/[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]/.test(text)) return null
    return /^\s*[{[]/.test(text) && isJson(text) ? 'application/json' : 'text/plain'
  } catch {
    return null
  }
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** A file name without its path and extension. */
function stemOf(name: string): string {
  const base = name.replace(/^.*[/\\]/s, '').trim()
  return base.replace(/(?<=.)\.[A-Za-z0-9]{1,5}$/, '').replace(/^\.+/, '')
}

/** The size of a PNG image, from its header. */
function pixelsOf(bytes: Uint8Array): { width: number; height: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { width: view.getUint32(16), height: view.getUint32(20) }
}
