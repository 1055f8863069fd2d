import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { promisify } from 'node:util'
import type { JWK } from 'jose'
import { toPrivateKey } from '../../lib/crypto/es256.ts'

/**
 * JWE (RFC 7516) for small messages. jose runs seven steps on another thread, which costs more than the steps: here,
 * only the key agreement runs there. Larger messages use jose: see `message.ts`.
 */

const CIPHER = 'aes-256-gcm'
const COORDINATE_LENGTH = 32
const IV_LENGTH = 12
const TAG_LENGTH = 16

const agree = promisify(diffieHellman as AsyncAgreement)

/** Node's types have only the blocking form. */
type AsyncAgreement = (
  keys: { privateKey: KeyObject; publicKey: KeyObject },
  done: (error: Error | null, secret: Buffer) => void,
) => void

/** The caller has checked the header (ECDH-ES on P-256, A256GCM). Throws for any other JWE. */
export async function openWithKey(jwe: string, epk: unknown, privateKey: JWK): Promise<Uint8Array> {
  const [header = '', encryptedKey, iv = '', ciphertext = '', tag = ''] = jwe.split('.')
  if (encryptedKey !== '') throw new Error('ECDH-ES has no encrypted key')
  const keys = { privateKey: toPrivateKey(privateKey), publicKey: importEphemeralKey(epk) }
  const key = deriveKey(await agree(keys))
  const nonce = decode(iv, IV_LENGTH)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH })
  decipher.setAAD(Buffer.from(header, 'latin1'))
  decipher.setAuthTag(decode(tag, TAG_LENGTH))
  // The plaintext is only used after `final` has verified the tag.
  const plaintext = decipher.update(Buffer.from(ciphertext, 'base64url'))
  return Buffer.concat([plaintext, decipher.final()])
}

/** Seals with a 256-bit key that is used only once (`dir`, A256GCM). */
export function sealUnderKey(
  header: Record<string, string>,
  plaintext: Uint8Array,
  key: Uint8Array,
): string {
  const protectedHeader = Buffer.from(JSON.stringify(header)).toString('base64url')
  const iv = randomBytes(IV_LENGTH)
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_LENGTH })
  cipher.setAAD(Buffer.from(protectedHeader, 'latin1'))
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  const parts = [iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString('base64url'))
  return [protectedHeader, '', ...parts].join('.')
}

/** The sender's public key. Importing refuses a point that is not on the curve. */
function importEphemeralKey(epk: unknown): KeyObject {
  const { kty, crv, x, y } = (epk ?? {}) as Record<string, unknown>
  if (kty !== 'EC' || crv !== 'P-256' || typeof x !== 'string' || typeof y !== 'string') {
    throw new Error('not a P-256 key')
  }
  for (const coordinate of [x, y]) decode(coordinate, COORDINATE_LENGTH)
  return createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' })
}

/** RFC 7518 §4.6.2: one round of the Concat KDF (NIST SP 800-56A) for A256GCM, without party information. */
function deriveKey(secret: Uint8Array): Buffer {
  return createHash('sha256').update(ROUND).update(secret).update(OTHER_INFO).digest()
}

const ROUND = uint32(1)
const OTHER_INFO = Buffer.concat([
  uint32('A256GCM'.length),
  Buffer.from('A256GCM'),
  uint32(0),
  uint32(0),
  uint32(256),
])

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function decode(text: string, length: number): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== length) throw new Error(`not ${length} bytes`)
  return bytes
}
