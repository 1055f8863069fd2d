import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type Static, t } from 'elysia'
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader, type JWK } from 'jose'
import type { KeyRing } from '../../lib/crypto/key-ring.ts'
import { AppError } from '../../lib/errors.ts'
import { closedObject, integer } from '../http/replies/envelope.ts'
import { openWithKey, sealUnderKey } from './jwe.ts'

/** The first line of a sealed request's plaintext. */
const RequestHead = closedObject({
  v: t.Literal(1),
  /** 128 random bits, so that a request is executed only once. */
  jti: t.String({ pattern: '^[\\w-]{22}$' }),
  /** When it was sealed, in seconds since 1970. */
  iat: integer({ format: 'int64', minimum: 0 }),
  htm: t.String(),
  /** Path and query. */
  htu: t.String(),
  /** SHA-256 of the access token, base64url; null if there is none. */
  ath: t.Union([t.String(), t.Null()]),
  /** The access token, unless it is in the Authorization header. */
  at: t.Optional(t.String({ pattern: '^[!-~]+$' })),
  /** The key for the response: 256 bits, base64url, used once. */
  rk: t.String({ pattern: '^[\\w-]{43}$' }),
})
type RequestHead = Static<typeof RequestHead>

type OpenedRequest = {
  head: RequestHead
  body: Uint8Array
  kid: string
  /** The content type of the body; null if there is none. */
  contentType: string | null
}

type Header = Record<string, unknown>

const head = TypeCompiler.Compile(RequestHead)
const HEADER_FIELDS = ['alg', 'enc', 'kid', 'epk', 'typ', 'cty']
const MAX_HEADER_LENGTH = 1_024
const MAX_HEAD_BYTES = 16 * 1024
const NEWLINE = 10
/** No other algorithms, and no decompression. */
const DECRYPT_OPTIONS = {
  keyManagementAlgorithms: ['ECDH-ES'],
  contentEncryptionAlgorithms: ['A256GCM'],
  maxDecompressedLength: 0,
}
/** In bytes; opening a message of this size takes a fraction of a millisecond. */
export const MAX_MAIN_THREAD_BYTES = 128 * 1024
/** The lengths of a nonce and a tag in base64url. */
const NONCE_LENGTH = 16
const TAG_LENGTH = 22

/** Throws `encryption_unknown_key`, and the same `encryption_invalid` for every other error. */
export async function openRequest(
  jwe: string,
  keys: Pick<KeyRing, 'find' | 'findJwk'>,
): Promise<OpenedRequest> {
  const header = readHeader(jwe)
  const { kid, typ, cty } = header
  const jwk = typeof kid === 'string' ? keys.findJwk(kid) : null
  if (jwk === null || typeof kid !== 'string') throw unknownKey()
  // The header is public, so it is checked before any expensive work.
  const hasOnlyKnownFields = Object.keys(header).every((name) => HEADER_FIELDS.includes(name))
  if (!hasOnlyKnownFields || typ !== 'req+jwe') throw invalidMessage()
  if (cty !== undefined && !isContentType(cty)) throw invalidMessage()
  const plaintext = await decrypt(jwe, header, jwk, keys).catch(() => {
    throw invalidMessage()
  })
  if (!isCanonical(jwe, plaintext)) throw invalidMessage()
  const end = plaintext.subarray(0, MAX_HEAD_BYTES).indexOf(NEWLINE)
  if (end < 0) throw invalidMessage()
  const line = readJsonLine(plaintext.subarray(0, end))
  if (!head.Check(line)) throw invalidMessage()
  return { head: line, body: plaintext.subarray(end + 1), kid, contentType: cty ?? null }
}

/** Large messages are decrypted on another thread, so that they do not block requests. */
async function decrypt(
  jwe: string,
  { alg, enc, epk, kid }: Header,
  jwk: JWK,
  { find }: Pick<KeyRing, 'find'>,
): Promise<Uint8Array> {
  if (jwe.length <= MAX_MAIN_THREAD_BYTES) {
    if (alg !== 'ECDH-ES' || enc !== 'A256GCM') throw invalidMessage()
    return openWithKey(jwe, epk, jwk)
  }
  const key = await find(String(kid))
  if (key === null) throw unknownKey()
  return (await compactDecrypt(jwe, key, DECRYPT_OPTIONS)).plaintext
}

/** Seals a response with the key from its request: RFC 7516, `dir` and A256GCM. */
export async function sealReply(
  { jti, rk }: RequestHead,
  reply: { status: number; body: Uint8Array; contentType: string | null },
  at: Date,
): Promise<string> {
  const { status, body, contentType } = reply
  const iat = Math.floor(at.getTime() / 1000)
  const line = Buffer.from(`${JSON.stringify({ v: 1, jti, status, iat })}\n`)
  const cty = contentType === null ? {} : { cty: contentType }
  const plaintext = Buffer.concat([line, body])
  const header = { alg: 'dir', enc: 'A256GCM', kid: jti, typ: 'res+jwe', ...cty }
  const key = Buffer.from(rk, 'base64url')
  if (plaintext.length <= MAX_MAIN_THREAD_BYTES) return sealUnderKey(header, plaintext, key)
  return new CompactEncrypt(plaintext).setProtectedHeader(header).encrypt(key)
}

export function invalidMessage(): AppError {
  return new AppError('encryption_invalid', 'The sealed message cannot be opened.')
}

function unknownKey(): AppError {
  return new AppError(
    'encryption_unknown_key',
    'The message is sealed for a key that is not in use: fetch /.well-known/jwks.json and reseal it.',
  )
}

function readHeader(jwe: string): Header {
  const parts = jwe.split('.', 6)
  if (parts.length !== 5 || (parts[0] as string).length > MAX_HEADER_LENGTH) throw invalidMessage()
  try {
    return decodeProtectedHeader(jwe)
  } catch {
    throw invalidMessage()
  }
}

/** The value becomes a header, so it must not contain line breaks. */
function isContentType(value: unknown): value is string {
  return typeof value === 'string' && /^[ -~]{1,200}$/.test(value)
}

/** Base64url allows several encodings of the same bytes; only the canonical one has this length and these final characters. */
function isCanonical(jwe: string, plaintext: Uint8Array): boolean {
  const [header = '', , , ciphertext = '', tag = ''] = jwe.split('.')
  const length = Math.ceil((plaintext.byteLength * 4) / 3)
  const expected = header.length + NONCE_LENGTH + length + TAG_LENGTH + '....'.length
  return jwe.length === expected && [ciphertext, tag].every(endsCanonically)
}

function endsCanonically(part: string): boolean {
  const end = part.slice(part.length - (part.length % 4))
  return Buffer.from(end, 'base64url').toString('base64url') === end
}

function readJsonLine(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalidMessage()
  }
}
