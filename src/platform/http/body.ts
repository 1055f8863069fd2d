import type { TSchema } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import { isStorableText } from '../../lib/validation.ts'
import { malformed } from './errors.ts'
import { openedBody } from './opened-request.ts'

/** The cap of JSON bodies, in bytes. */
export const JSON_LIMIT = 64 * 1024
const DEPTH_LIMIT = 32
/** Seconds without a byte until a connection is closed. */
export const IDLE_TIMEOUT = 15
/** Seconds that Bun waits on a slow phone that uploads; the ordinary ones would cut it off. */
export const UPLOAD_TIMEOUT = 255

/** The hooks of a route with a JSON body of at most `limit` bytes: a counted parser and the schema. */
export function json<T extends TSchema>(body: T, limit = JSON_LIMIT) {
  return { parse: [({ request }: { request: Request }) => parseJson(request, limit)], body }
}

async function parseJson(request: Request, limit: number): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new AppError('unsupported_media_type', 'Send the body as Content-Type: application/json.')
  }
  const value = readJson(await readBody(request, limit))
  // Half of a character would be stored as another one: two different passwords would be the same.
  if (!isStorable(value)) {
    throw new AppError('validation_failed', 'The body contains text that cannot be stored.', {
      details: [{ path: 'body', message: 'must be well-formed Unicode without U+0000' }],
    })
  }
  return value
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value)
  if (value === null || typeof value !== 'object') return true
  return Object.entries(value).every(([key, inner]) => isStorableText(key) && isStorable(inner))
}

/** JSON out of UTF-8 bytes, nested at most 32 deep; anything else is a malformed request. */
export function readJson(bytes: Uint8Array): unknown {
  const value = parse(bytes)
  // Validation takes a time that grows with the square of the depth: 64 KiB of brackets cost 9 s.
  if (isDeeper(value, DEPTH_LIMIT)) throw malformed('The body is nested too deeply.')
  return value
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw malformed('The body is not readable JSON in UTF-8.')
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1))
}

/** Reads at most `limit` bytes; throws 413 beyond that. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  rejectEncodedBody(request)
  rejectTooLong(request, limit)
  if (isBound(request)) {
    const bytes = openedBody(request) ?? (await request.bytes())
    if (bytes.byteLength > limit) throw tooLarge(limit)
    return bytes
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunksOf(request)) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}

/** The parser reads no more than the announced length, which is faster than to count; chunks say theirs one by one. */
function isBound(request: Request): boolean {
  return announcedLength(request) !== null && !request.headers.has('transfer-encoding')
}

/** The body as it comes; that of a sealed request as it was before it was sealed. */
export async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  const opened = openedBody(request)
  if (opened) yield opened
  else for await (const chunk of request.body ?? []) yield chunk
}

/** The body to be passed on to another process: its bytes up to `limit`, beyond that or without a length as a stream. */
export async function bodyToPassOn(request: Request, limit: number) {
  const isSmall = (announcedLength(request) ?? Infinity) <= limit
  return request.body && isSmall ? request.bytes() : request.body
}

export function hasBody(request: Request): boolean {
  const { body, headers } = request
  // A GET has no body for the server, whatever it brings.
  const isChunked = headers.has('transfer-encoding')
  return body !== null || isChunked || (announcedLength(request) ?? 0) > 0
}

/** Compressed bodies could unfold without limit, so none is ever inflated. */
export function rejectEncodedBody(request: Request) {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new AppError('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
}

/** Refuses an announced length over `limit` before a byte is read. */
export function rejectTooLong(request: Request, limit: number) {
  if ((announcedLength(request) ?? 0) > limit) throw tooLarge(limit)
}

/** The Content-Length, or null without one. Two of them, which arrive joined, could mean anything. */
export function announcedLength(request: Request): number | null {
  const header = request.headers.get('content-length')
  if (header === null) return null
  if (!/^\d{1,15}$/.test(header)) throw malformed('The Content-Length header is not a number.')
  return Number(header)
}

export function tooLarge(limit: number): AppError {
  return new AppError('payload_too_large', `The body must not exceed ${limit} bytes.`)
}
