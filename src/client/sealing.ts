import { base64url, CompactEncrypt, type CryptoKey, compactDecrypt } from 'jose'
import { ApiError } from './api-error.ts'
import { concat, utf8 } from './bytes.ts'

export type ServerKey = { kid: string; key: CryptoKey | Uint8Array }

/** The sealed part of a request; `contentType` is null if there is no body. */
type Content = {
  method: string
  /** Path and query. */
  target: string
  token: string | null
  contentType: string | null
  body: Uint8Array<ArrayBuffer>
}

/** The values that the response must match. */
type Expectation = { jti: string; replyKey: Uint8Array }

const NEWLINE = 10
const DECRYPT_OPTIONS = {
  keyManagementAlgorithms: ['dir'],
  contentEncryptionAlgorithms: ['A256GCM'],
  maxDecompressedLength: 0,
}

/**
 * A compact JWE (RFC 7516: ECDH-ES, A256GCM). `at` in ms. The server executes each `jti` once; a resealed request keeps
 * it.
 */
export async function sealRequest(
  content: Content,
  { kid, key }: ServerKey,
  at: number,
  jti: string = newMessageId(),
) {
  const { method, target, token, contentType, body } = content
  const replyKey = crypto.getRandomValues(new Uint8Array(32))
  const line = JSON.stringify({
    v: 1,
    jti,
    iat: Math.floor(at / 1000),
    htm: method,
    htu: target,
    ath: token === null ? null : base64url.encode(await sha256(token)),
    // Inside the sealed part: in a header, an intermediary could read the token and use it.
    ...(token === null ? {} : { at: token }),
    rk: base64url.encode(replyKey),
  })
  const cty = contentType === null ? {} : { cty: contentType }
  const message = await new CompactEncrypt(concat([utf8(`${line}\n`), body]))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid, typ: 'req+jwe', ...cty })
    .encrypt(key)
  return { message, expectation: { jti, replyKey } }
}

export function newMessageId(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(16)))
}

/** Opens the response to one request, and refuses any other response. `sealedAt` is in ms. */
export async function openReply(
  message: string,
  status: number,
  { jti, replyKey }: Expectation,
): Promise<{ contentType: string | null; body: Uint8Array; sealedAt: number }> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(message, replyKey, DECRYPT_OPTIONS)
    const end = plaintext.indexOf(NEWLINE)
    const line = JSON.parse(new TextDecoder().decode(plaintext.subarray(0, end)))
    const isReply =
      protectedHeader.typ === 'res+jwe' && protectedHeader['kid'] === jti && line.v === 1
    if (!isReply || line.jti !== jti || line.status !== status) throw new Error('wrong response')
    const { cty } = protectedHeader
    const sealedAt = line.iat * 1000
    return { contentType: cty ?? null, body: plaintext.subarray(end + 1), sealedAt }
  } catch (cause) {
    const text = 'The response is not the one that the server sealed for this request.'
    throw new ApiError({ status, code: 'reply_invalid', message: text, cause })
  }
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text)))
}
