import { open } from 'node:fs/promises'
import { parseJson } from '../../../lib/text/json.ts'
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

type Charset = 'utf-8' | 'utf-16le' | 'utf-16be' | 'shift_jis' | 'windows-1252'

/** Longer JSON is treated as text, because parsing it would block the event loop. */
const MAX_JSON_BYTES = 256 * 1024
/** Bell to carriage return, the end-of-file mark of DOS, and escape (colours in logs). */
const TEXT_CONTROLS = [7, 8, 9, 10, 11, 12, 13, 26, 27]
/** Text has at most one NUL per this many bytes: a program that crashes may leave some in its log. */
const MIN_BYTES_PER_NUL = 10
/** Japanese has more than one kana per this many characters: other languages in Windows-1252 decode to rare kanji. */
const MAX_CHARACTERS_PER_KANA = 5
const SLICE_BYTES = 256 * 1024

export function findExtension(itemType: string): string {
  return EXTENSIONS[itemType.split(';')[0] ?? ''] ?? 'bin'
}

export function isImage(itemType: string): boolean {
  return itemType.startsWith('image/')
}

/** Detects the media type from the content, with the charset of text that is not UTF-8; null if it is not accepted. */
export async function sniff({ path, size, head }: Staged): Promise<string | null> {
  if (size === 0) return null
  const { fileTypeFromBuffer } = await import('file-type')
  const type = await fileTypeFromBuffer(head).catch(() => undefined)
  if (type?.mime === 'image/apng') return 'image/png'
  // The brand that cameras of other makers than Apple write.
  if (type?.mime === 'image/heif') return 'image/heic'
  if (type && type.mime in EXTENSIONS) return type.mime
  if (isPdf(head)) return 'application/pdf'
  // Text may begin like another format: "GIF does not work".
  const charsets: Charset[] = type === undefined ? findCharsets(head) : ['utf-8']
  for (const charset of charsets) {
    if (!(await isText(path, size, charset))) continue
    if (charset !== 'utf-8') return `text/plain; charset=${charset}`
    // An invalid or long JSON file is accepted as text.
    return size <= MAX_JSON_BYTES && isJson(await Bun.file(path).text())
      ? 'application/json'
      : 'text/plain'
  }
  return null
}

/** Whether a PDF starts within the first 1,024 bytes, as readers allow. Text that only mentions PDF has no objects. */
function isPdf(head: Uint8Array): boolean {
  const text = Buffer.from(head).toString('latin1')
  const start = text.search(/%PDF-\d\.\d/)
  if (start < 0 || start >= 1_024) return false
  return text.slice(0, start).trim() === '' || /\d\s+obj\b|%%EOF/.test(text.slice(start))
}

function findCharsets(head: Uint8Array): Charset[] {
  if (head[0] === 0xff && head[1] === 0xfe) return ['utf-16le']
  if (head[0] === 0xfe && head[1] === 0xff) return ['utf-16be']
  return ['utf-8', 'shift_jis', 'windows-1252']
}

/** The text may be cut within its last character. Reads in slices, so that no file blocks the event loop. */
async function isText(path: string, size: number, charset: Charset): Promise<boolean> {
  const decoder = new TextDecoder(charset, { fatal: true })
  await using file = await open(path)
  const buffer = Buffer.allocUnsafe(SLICE_BYTES)
  const total = { binary: 0, nul: 0, unused: 0, foreign: 0, kana: 0 }
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, SLICE_BYTES)
    if (bytesRead === 0) break
    try {
      countCharacters(decoder.decode(buffer.subarray(0, bytesRead), { stream: true }), total)
    } catch {
      return false
    }
    if (total.binary > 0) return false
  }
  if (charset === 'shift_jis' && total.kana * MAX_CHARACTERS_PER_KANA <= total.foreign) return false
  // Bytes that Windows-1252 does not use.
  if (!charset.startsWith('utf') && total.unused + total.nul > 0) return false
  return total.nul * MIN_BYTES_PER_NUL <= size
}

/** A plain loop is eight times as fast as regular expressions. */
function countCharacters(
  text: string,
  total: Record<'binary' | 'nul' | 'unused' | 'foreign' | 'kana', number>,
) {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0) total.nul++
    else if (code < 0x20 && !TEXT_CONTROLS.includes(code)) total.binary++
    else if (code > 0x7f) {
      total.foreign++
      if (code < 0xa0) total.unused++
      if (code >= 0x3040 && code <= 0x30ff) total.kana++
    }
  }
}

function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text) && parseJson(text) !== undefined
}
