import type { TObject } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { TSchema } from 'elysia'
import { yieldToEventLoop } from '../../../lib/concurrency/yield-to-event-loop.ts'
import { AppError, invalidField } from '../../../lib/errors.ts'
import { trimAddress } from '../../../lib/text/email-address.ts'
import { countCodePoints, isStorableText } from '../../../lib/validation.ts'
import { malformed } from '../replies/errors.ts'
import { findRepeated } from '../request/query.ts'
import { requestInfo } from '../request/request-log.ts'
import { atMinimumRate, awaitArrival, PATIENT_RATE } from './arrival.ts'
import { openedBody } from './opened-request.ts'

/** In bytes. */
const JSON_LIMIT = 64 * 1024
/** The same for routes that accept documents or purchases. */
export const LARGE_JSON_LIMIT = 256 * 1024
const DEPTH_LIMIT = 32
/** A body up to this size is read as a whole, which is faster. */
const SMALL_BYTES = 16 * 1024
/** A connection is closed after this many seconds without a byte. */
export const IDLE_TIMEOUT_SECONDS = 15
/** The same timeout during uploads; longer, because phones may be slow. */
export const UPLOAD_TIMEOUT_SECONDS = 255

type OpenBody = {
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, 'read'>
  isRead: boolean
}

const openBodies = new WeakMap<Request, OpenBody>()

/** The route options for a JSON body of at most `limit` bytes: a capped parser and the schema. */
export function json<T extends TSchema>(body: T, limit = JSON_LIMIT) {
  countCodePoints(body)
  const parse = async ({ request }: { request: Request }) => {
    const value = await parseJson(request, limit)
    // In a merge patch, null restores the default.
    return request.method === 'PATCH' ? value : normalizeMembers(body, value)
  }
  return { parse: [parse], body }
}

/** Removes optional members that are null, which clients send for absent ones, and trims `email` members. */
function normalizeMembers(schema: TSchema, value: unknown): unknown {
  const { anyOf = [], properties = {}, required = [], items = {} } = schema
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((one) => normalizeMembers(items, one))
  const members = Object.entries(value).flatMap(([name, member]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property === undefined) return [[name, member]]
    if (member === null && !required.includes(name) && !Value.Check(property, null)) return []
    const isAddress = name === 'email' && typeof member === 'string'
    return [[name, isAddress ? trimAddress(member) : normalizeMembers(property, member)]]
  })
  return (anyOf as TSchema[]).reduce<unknown>(
    (read, one) => normalizeMembers(one, read),
    Object.fromEntries(members),
  )
}

/** The route options for a small form of an OAuth client, which may add parameters: unknown ones are ignored (RFC 6749, §3.2). */
export function form<T extends TObject>(body: T) {
  const names = Object.keys(body.properties)
  return { parse: [({ request }: { request: Request }) => parseForm(request, names)], body }
}

export function isForm(request: Request): boolean {
  return readMediaType(request) === 'application/x-www-form-urlencoded'
}

async function parseForm(request: Request, names: string[]): Promise<unknown> {
  if (!isForm(request)) {
    throw new AppError(
      'unsupported_media_type',
      'Send the body as Content-Type: application/x-www-form-urlencoded.',
    )
  }
  const text = new TextDecoder().decode(await readBody(request, JSON_LIMIT))
  const [repeated] = findRepeated(text)
  if (repeated !== undefined) throw malformed('The form contains a field twice.')
  return Object.fromEntries([...new URLSearchParams(text)].filter(([name]) => names.includes(name)))
}

/** The media type without parameters such as a charset, which HTTP libraries add on their own. */
export function readMediaType({ headers }: Request): string | undefined {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
}

async function parseJson(request: Request, limit: number): Promise<unknown> {
  const type = readMediaType(request)
  const isMergePatch = request.method === 'PATCH' && type === 'application/merge-patch+json'
  if (type !== 'application/json' && !isMergePatch) {
    throw new AppError('unsupported_media_type', 'Send the body as Content-Type: application/json.')
  }
  const value = readJson(await readBody(request, limit))
  // A lone surrogate would be stored as another character, which would make different passwords equal.
  if (!isStorable(value)) {
    throw invalidField(
      'body',
      'must be well-formed Unicode without U+0000, and its numbers must fit into a double',
      'The body contains a value that cannot be stored.',
    )
  }
  return value
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value)
  // Too large for a double: it would be stored as null.
  if (typeof value === 'number') return Number.isFinite(value)
  if (value === null || typeof value !== 'object') return true
  return listKeys(value).every(isStorableText) && listValues(value).every(isStorable)
}

/** None for an array: `Object.keys` would convert each index to text, which takes twenty times as long. */
function listKeys(value: object): string[] {
  return Array.isArray(value) ? [] : Object.keys(value)
}

function listValues(value: object): unknown[] {
  return Array.isArray(value) ? value : Object.values(value)
}

/** Parses JSON in UTF-8, nested at most 32 levels; throws `malformed_request` otherwise. */
export function readJson(bytes: Uint8Array): unknown {
  const value = parse(bytes)
  // Validation time grows with the square of the depth: 64 KiB of brackets take 9 s.
  if (isDeeperThan(value, DEPTH_LIMIT)) throw malformed('The body is nested too deeply.')
  return value
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw malformed('The body is not valid JSON in UTF-8.')
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false
  return levels === 0 || listValues(value).some((inner) => isDeeperThan(inner, levels - 1))
}

/** Throws 413 beyond `limit` bytes. The time that the body takes to arrive does not count as the server's. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  const at = performance.now()
  try {
    return await readUpTo(request, limit)
  } finally {
    requestInfo(request).startedAt += performance.now() - at
  }
}

async function readUpTo(request: Request, limit: number): Promise<Uint8Array> {
  rejectEncodedBody(request)
  rejectTooLong(request, limit)
  const length = readContentLength(request) ?? Infinity
  const opened = openedBody(request)
  if (opened || (length <= SMALL_BYTES && hasEnforcedLength(request))) {
    const bytes = opened ?? (await awaitArrival(request.bytes(), length))
    if (bytes.byteLength > limit) throw tooLarge(limit)
    return bytes
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of atMinimumRate(streamChunks(request), PATIENT_RATE)) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}

/** Whether the HTTP parser enforces the Content-Length, so that chunks need not be counted. */
function hasEnforcedLength(request: Request): boolean {
  return readContentLength(request) !== null && !request.headers.has('transfer-encoding')
}

/** The body as a stream; the plaintext of a sealed request. */
export async function* streamChunks(request: Request): AsyncGenerator<Uint8Array> {
  const opened = openedBody(request)
  if (opened) yield opened
  else yield* readChunks(request)
  if (!request.headers.has('transfer-encoding')) return
  // The parser refuses a request with a trailer only after the end of its body.
  await yieldToEventLoop()
  if (request.signal.aborted) throw malformed('The request was aborted.')
}

/** Yields the body as it arrives. A consumer that stops early leaves the rest to `replyAfterBody`. */
export async function* readChunks(request: Request): AsyncGenerator<Uint8Array> {
  const body = openBody(request)
  for (;;) {
    const { done, value } = (await body?.reader.read()) ?? { done: true }
    if (done && body) body.isRead = true
    if (done || !value) return
    yield value
  }
}

function openBody(request: Request): OpenBody | undefined {
  const known = openBodies.get(request)
  if (known || !request.body) return known
  const opened = { reader: request.body.getReader(), isRead: false }
  openBodies.set(request, opened)
  return opened
}

export function hasUnreadBody(request: Request): boolean {
  const { method } = request
  if (method === 'GET' || method === 'HEAD') return false
  const known = openBodies.get(request)
  return known ? !known.isRead : !request.bodyUsed && request.body !== null
}

/** The body to forward to another process: bytes up to `limit`, but a stream if larger or of unknown length. */
export async function bodyToForward(request: Request, limit: number) {
  const isSmall = (readContentLength(request) ?? Infinity) <= limit
  return request.body && isSmall ? request.bytes() : request.body
}

export function hasBody(request: Request): boolean {
  const { body, headers } = request
  // Bun gives a GET no body, even when the client sent one.
  const isChunked = headers.has('transfer-encoding')
  return body !== null || isChunked || (readContentLength(request) ?? 0) > 0
}

/** Refuses compressed bodies, which could expand without limit. */
export function rejectEncodedBody(request: Request) {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new AppError('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
}

/** Refuses a Content-Length over `limit` before a byte is read. */
export function rejectTooLong(request: Request, limit: number) {
  if ((readContentLength(request) ?? 0) > limit) throw tooLarge(limit)
}

/** The Content-Length, or null. Throws if there are two headers, which arrive joined. */
export function readContentLength(request: Request): number | null {
  const header = request.headers.get('content-length')
  if (header === null) return null
  if (!/^\d{1,15}$/.test(header)) throw malformed('The Content-Length header is not a number.')
  return Number(header)
}

export function tooLarge(limit: number): AppError {
  return new AppError('payload_too_large', `The body must not exceed ${limit} bytes.`)
}
