import type { Context } from 'elysia'
import { allowReaderPauses } from '../../../platform/http/body/connection-time.ts'
import { rawReply } from '../../../platform/http/replies/raw-reply.ts'
import { etagMatches } from '../../../platform/http/replies/replies.ts'
import { isImage } from '../upload/media-types.ts'

type Served = {
  row: { key: string; fileName: string; itemType: string; type: string; createdAt: Date }
  file: Blob
  size: number
  /** The media type and ETag of a variant. */
  itemType?: string
  etag?: string
}

/** The whole file, a single range, or 304. */
export function serveFile(
  { row, file, size, itemType = row.itemType, etag: tag = row.key }: Served,
  { request, set }: Pick<Context, 'request' | 'set'>,
): Response {
  const { headers, method } = request
  const etag = `"${tag}"`
  const lastModified = row.createdAt.toUTCString()
  const reply: Record<string, string> = {
    // Without a charset, browsers would assume Windows-1252.
    'content-type': itemType === 'text/plain' ? 'text/plain; charset=utf-8' : itemType,
    'content-disposition': formatDisposition(itemType, row.fileName),
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'cross-origin',
    'cache-control':
      row.type === 'publicAsset' ? 'public, max-age=31536000, immutable' : 'private, no-store',
    'accept-ranges': 'bytes',
    'last-modified': lastModified,
    etag,
  }
  if (etagMatches(headers.get('if-none-match'), etag)) {
    return rawReply(set, null, reply, 304)
  }
  allowReaderPauses(request)
  const ifRange = headers.get('if-range')
  const isCurrent = ifRange === null || ifRange === etag || ifRange === lastModified
  // Ranges apply only to GET (RFC 9110 §14.2).
  const range = method === 'GET' && isCurrent ? parseRange(headers.get('range'), size) : null
  if (range === null) return rawReply(set, file, reply)
  if (range === 'unsatisfiable') {
    const refused = { 'content-range': `bytes */${size}`, 'cache-control': 'no-store' }
    return rawReply(set, null, { ...reply, ...refused }, 416)
  }
  const { first, last } = range
  const part = { ...reply, 'content-range': `bytes ${first}-${last}/${size}` }
  return rawReply(set, file.slice(first, last + 1), part, 206)
}

/**
 * Parses a single range (RFC 9110 §14) as leniently as Bun, which would send the headers of the whole file. Null means
 * the whole file.
 */
export function parseRange(
  header: string | null,
  size: number,
): { first: number; last: number } | 'unsatisfiable' | null {
  const [, from, to] = /^bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return null
  if (from === '') {
    const length = Math.min(Number(to), size)
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 }
  }
  const first = Number(from)
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (to !== '' && Number(to) < first) return null
  return first < size ? { first, last } : 'unsatisfiable'
}

/** RFC 6266: images are shown inline, other files downloaded; the full name is percent-encoded. */
function formatDisposition(itemType: string, fileName: string): string {
  const dispositionType = isImage(itemType) ? 'inline' : 'attachment'
  const ascii = fileName.replace(/[^\w. -]/g, '_')
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${dispositionType}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
