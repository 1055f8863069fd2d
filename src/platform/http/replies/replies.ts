import { brotliCompressSync, constants } from 'node:zlib'
import type { Context } from 'elysia'
import Negotiator from 'negotiator'
import { sha256 } from '../../../lib/crypto/hash.ts'
import { isSealed } from '../body/opened-request.ts'
import { varyBy } from '../cors.ts'
import { optionalHeader } from '../request/request-headers.ts'
import { data } from './envelope.ts'
import { rawReply } from './raw-reply.ts'

/** For the API docs. */
export const cached = { 'x-cached': true }
/** Marks a route whose data has texts in the language of the request, for the API docs. */
export const localized = { 'x-texts': true }

/**
 * A rendered response, cached until its content changes. `compressed` caches the encodings that clients have requested;
 * without it, the response is never compressed.
 */
type PublicReply = {
  body: string | Uint8Array
  etag: string
  compressed?: Map<string, Uint8Array>
}

/** In our order of preference. */
const COMPRESSORS: Record<string, (body: Uint8Array) => Uint8Array> = {
  br: (body) =>
    brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  zstd: (body) => Bun.zstdCompressSync(body),
  gzip: (body) => Bun.gzipSync(body as Uint8Array<ArrayBuffer>),
}
/** A higher quality takes ten times as long. */
const BROTLI_QUALITY = 5
/** A shorter response fits into one packet. */
const MIN_COMPRESSED_LENGTH = 1_000
const ENCODING_LIMIT = 200
const PROXY_SUFFIX = /^-{1,2}(gzip|br|zstd|deflate)"$/

const MAX_REPLIES_PER_VALUE = 1_000

/** Renders once per value and variant key, such as a language. */
export function createPublicCache<T extends object>(
  render: (value: T, variant: string) => unknown = (value) => value,
): (value: T, variant?: string) => PublicReply {
  const replies = new WeakMap<T, Map<string, PublicReply>>()
  return (value, variant = '') => {
    const known = replies.get(value)?.get(variant)
    if (known) return known
    const byVariant = replies.get(value) ?? new Map<string, PublicReply>()
    // Clients can choose variants, so the number of cached responses is bounded.
    if (byVariant.size >= MAX_REPLIES_PER_VALUE) byVariant.clear()
    const reply = encode(render(value, variant))
    replies.set(value, byVariant.set(variant, reply))
    return reply
  }
}

function encode(response: unknown): PublicReply {
  return publicReply(JSON.stringify(data(response)))
}

export function publicReply(body: string | Uint8Array): PublicReply {
  return { body, etag: `"${sha256(body).slice(0, 22)}"`, compressed: new Map() }
}

type PublicOptions = { language?: string; isPrivate?: boolean; headers?: Record<string, string> }

/**
 * Returns 200, or 304 when the client has the body. `maxAge` in seconds; `language`: if negotiated; `isPrivate`: for
 * one user or device; `headers` override the default ones.
 */
export function sendPublic(
  reply: PublicReply,
  { request, set }: Pick<Context, 'request' | 'set'>,
  maxAge: number,
  { language, isPrivate = false, headers: others = {} }: PublicOptions = {},
): Response {
  const { body, etag, compressed } = reply
  // Personal content is not compressed: its length would reveal secrets (BREACH).
  const isCompressible = compressed && !isPrivate && body.length >= MIN_COMPRESSED_LENGTH
  const encoding = isCompressible && !isSealed(request) ? chooseEncoding(request) : null
  if (isCompressible) varyBy(set, 'Accept-Encoding')
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': `${isPrivate ? 'private' : 'public'}, max-age=${maxAge}`,
    // Weak, because each encoding has different bytes under the same tag.
    etag: encoding ? `W/${etag}` : etag,
    ...(encoding ? { 'content-encoding': encoding } : {}),
    ...others,
  }
  if (language !== undefined) {
    headers['content-language'] = language
    varyBy(set, 'Accept-Language')
  }
  const unchanged = etagMatches(request.headers.get('if-none-match'), etag)
  if (unchanged) return rawReply(set, null, headers, 304)
  return rawReply(set, encoding ? compress(reply, encoding) : body, headers)
}

function chooseEncoding({ headers }: Request): string | null {
  const accepted = optionalHeader(headers, 'accept-encoding')?.slice(0, ENCODING_LIMIT)
  if (accepted === undefined) return null
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted.toLowerCase() } })
  // The package's types lack the option for our order of preference.
  const choose = negotiator.encodings as (available: string[], options: object) => string[]
  const known = Object.keys(COMPRESSORS)
  const [preferred] = choose.call(negotiator, [...known, 'identity'], { preferred: known })
  return preferred === undefined || preferred === 'identity' ? null : preferred
}

function compress({ body, compressed }: PublicReply, encoding: string): Uint8Array {
  const bytes = compressed?.get(encoding) ?? COMPRESSORS[encoding]?.(Buffer.from(body))
  compressed?.set(encoding, bytes as Uint8Array)
  return bytes as Uint8Array
}

/** RFC 9110 §13.1.2: a list of tags, compared weakly, or `*`. Proxies that compress mark tags as weak or add a suffix. */
export function etagMatches(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false
  const start = etag.slice(0, -1)
  const hasSuffix = (tag: string) =>
    tag.startsWith(start) && PROXY_SUFFIX.test(tag.slice(start.length))
  return ifNoneMatch
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === etag || hasSuffix(tag))
}
