import { AppError } from '../../../lib/errors.ts'
import type { ImageFormat } from '../images/containers.ts'
import type { ImageResult } from '../images/image.ts'
import type { MakeImage, Requester } from '../images/image-queue.ts'
import type { AttachmentsDb } from '../schema.ts'
import { noSpace } from '../storage/disk-space.ts'
import { findExtension, isImage, sniff } from './media-types.ts'
import type { Upload } from './receive-uploads.ts'
import type { Staging } from './staging.ts'

export type UploadOptions = {
  type: 'supportTicket' | 'publicAsset'
  compression: boolean
  targetType: ImageFormat | null
}

export type Row = AttachmentsDb['tables']['attachments']['$inferSelect']
export type PreparedUpload = { path: string; row: Row }

type PreparerDeps = {
  staging: Staging
  makeImage: MakeImage
  now: () => Date
  newKey: () => string
}

const COMPRESSED = { quality: 80, longSide: 2_560, isKeptIfSmaller: true }
const FULL_QUALITY = { quality: 90, longSide: 8_192 }

export function createPreparer({ staging, makeImage, now, newKey }: PreparerDeps) {
  return prepare

  async function prepare(
    userId: string,
    ip: string,
    upload: Upload,
    options: UploadOptions,
  ): Promise<PreparedUpload> {
    const itemType = await sniff(upload)
    if (itemType === null || (options.type === 'publicAsset' && !isImage(itemType))) {
      throw unsupportedType(options.type)
    }
    const file = await convert(upload, itemType, options, { userId, ip })
    const extension = findExtension(file.itemType)
    const row = {
      key: `${newKey()}.${extension}`,
      userId,
      type: options.type,
      fileName: cleanName(upload.fileName, extension),
      itemType: file.itemType,
      size: file.size,
      width: file.width,
      height: file.height,
      createdAt: now(),
    }
    return { path: file.path, row }
  }

  /** Returns the upload unchanged, or the image made from it. */
  async function convert(
    upload: Upload,
    itemType: string,
    options: UploadOptions,
    requester: Requester,
  ) {
    const unchanged = { path: upload.path, size: upload.size, itemType, width: null, height: null }
    const { type, compression, targetType } = options
    if (!isImage(itemType)) {
      if (targetType === null) return unchanged
      throw new AppError(
        'unsupported_media_type',
        'Only images (JPEG, PNG, WebP, HEIC) can be converted.',
      )
    }
    // Most browsers and support tools cannot open HEIC.
    const isHeic = itemType === 'image/heic'
    const isKept = type === 'supportTicket' && !compression && targetType === null && !isHeic
    if (isKept) return unchanged
    const defaultFormat = isHeic ? 'jpeg' : (itemType.slice('image/'.length) as ImageFormat)
    const format = targetType ?? defaultFormat
    const output = await staging.newPath()
    const settings = compression ? COMPRESSED : FULL_QUALITY
    try {
      const job = { input: upload.path, output, format, ...settings }
      const result = await makeImage(job, requester)
      if (result.kind !== 'made') throw imageRefusal(result.kind)
      const { size, width, height } = result
      return { path: output, size, itemType: `image/${format}`, width, height }
    } catch (error) {
      await staging.discard([{ path: output }])
      throw error
    }
  }
}

/** Removes the path and control characters from the sender's file name, and sets the extension of the content. */
export function cleanName(name: string, extension: string): string {
  const base = name
    .replace(/^.*[/\\]/s, '')
    .replace(/[\p{Cc}\p{Cn}\p{Co}\p{Cs}\u2028\u2029]|(?![\u200c\u200d])\p{Cf}/gu, '')
    .trim()
  const stem = base.replace(/(?<=.)\.[A-Za-z0-9]{1,5}$/, '').replace(/^\.+/, '')
  // Cut by code points, so that no emoji is split.
  const short = [...stem.toWellFormed()].slice(0, 100).join('')
  return `${short || 'file'}.${extension}`
}

function unsupportedType(type: UploadOptions['type']): AppError {
  const allowed =
    type === 'publicAsset'
      ? 'a JPEG, PNG, WebP or HEIC image'
      : 'a JPEG, PNG, WebP or HEIC image, PDF, text, JSON, ZIP or MP4'
  return new AppError(
    'unsupported_media_type',
    `Send ${allowed}. The content determines the type, not the name.`,
  )
}

export function imageRefusal(kind: Exclude<ImageResult['kind'], 'made'>): AppError {
  if (kind === 'no_space') return noSpace()
  if (kind === 'unreadable') {
    return new AppError('image_unreadable', 'The image is damaged and cannot be read.')
  }
  const messages = {
    too_slow: 'The image takes too long to process: send a smaller one.',
    result_too_large:
      'The converted image would exceed 25 MiB: choose another targetType (webp is the smallest) or compression=true.',
    too_large:
      'The image is too large. The limits are 64 megapixels (48 for a progressive JPEG, 33 for a HEIC with 10 bits) and 16,384 pixels per side.',
  }
  return new AppError('image_too_large', messages[kind])
}
