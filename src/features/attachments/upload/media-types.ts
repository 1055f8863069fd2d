import { isUtf8 } from 'node:buffer'
import { open } from 'node:fs/promises'
import type { Staged } from './staging.ts'

/** The accepted media types and the extension of each. HEIC is always converted. */
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

/** Longer JSON is treated as text, because parsing it would block the event loop. */
const MAX_JSON_BYTES = 256 * 1024
const SLICE_BYTES = 256 * 1024

export function extensionOf(itemType: string): string {
  return EXTENSIONS[itemType] ?? 'bin'
}

export function isImage(itemType: string): boolean {
  return itemType.startsWith('image/')
}

/** Detects the media type from the content; null if it is not accepted. */
export async function sniff({ path, size, head }: Staged): Promise<string | null> {
  if (size === 0) return null
  const { fileTypeFromBuffer } = await import('file-type')
  const type = await fileTypeFromBuffer(head).catch(() => undefined)
  if (type?.mime === 'image/apng') return 'image/png'
  // The brand that cameras other than Apple's write.
  if (type?.mime === 'image/heif') return 'image/heic'
  if (type && type.mime in EXTENSIONS) return type.mime
  // Text may begin like another format: "GIF does not work".
  if (!(await isText(path))) return null
  // An invalid or long JSON file is accepted as text.
  return size <= MAX_JSON_BYTES && isJson(await Bun.file(path).text())
    ? 'application/json'
    : 'text/plain'
}

/**
 * Whether a file is UTF-8 without control characters except tab, line feed, CR and escape (colours in logs).
 * Reads in slices, so that no file blocks the event loop or is loaded completely.
 */
async function isText(path: string): Promise<boolean> {
  await using file = await open(path)
  const buffer = Buffer.allocUnsafe(SLICE_BYTES)
  let kept = 0
  for (;;) {
    const { bytesRead } = await file.read(buffer, kept, SLICE_BYTES - kept)
    const filled = kept + bytesRead
    const end = bytesRead === 0 ? filled : endOfCharacters(buffer, filled)
    const slice = buffer.subarray(0, end)
    if (!isUtf8(slice) || hasControls(slice)) return false
    if (bytesRead === 0) return true
    buffer.copyWithin(0, end, filled)
    kept = filled - end
  }
}

/** Where the last complete character in the first `length` bytes ends. */
function endOfCharacters(bytes: Buffer, length: number): number {
  for (let at = length - 1; at >= 0 && at >= length - 3; at--) {
    const byte = bytes[at] as number
    if ((byte & 0xc0) === 0x80) continue
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return at + size > length ? at : length
  }
  return length
}

/** A plain loop is eight times as fast as `some`. */
function hasControls(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x1b) return true
  }
  return false
}

function isJson(text: string): boolean {
  try {
    return /^\s*[{[]/.test(text) && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
