import type { Staged } from './staging.ts'

/** Media types that we take, by content, and the extension under which each is stored; HEIC never is. */
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

const JSON_LIMIT = 256 * 1024

export function extensionOf(itemType: string): string {
  return EXTENSIONS[itemType] ?? 'bin'
}

export function isImage(itemType: string): boolean {
  return itemType.startsWith('image/')
}

/** The media type of a file, told from its bytes alone, or null when it is none that we take. */
export async function sniff({ path, size, head }: Staged): Promise<string | null> {
  if (size === 0) return null
  const { fileTypeFromBuffer } = await import('file-type')
  const type = await fileTypeFromBuffer(head).catch(() => undefined)
  // The brand of what other cameras than Apple's make.
  if (type?.mime === 'image/heif') return 'image/heic'
  if (type) return type.mime in EXTENSIONS ? type.mime : null
  return textKind(await Bun.file(path).bytes())
}

/** Text is UTF-8 without control characters but tab, line feed, carriage return and escape (colours in logs). */
function textKind(bytes: Uint8Array): string | null {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
  if (hasControls(text)) return null
  // Parsing holds the loop: a longer JSON is text as well.
  return text.length <= JSON_LIMIT && isJson(text) ? 'application/json' : 'text/plain'
}

function hasControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]/.test(text)
}

function isJson(text: string): boolean {
  try {
    return /^\s*[{[]/.test(text) && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
