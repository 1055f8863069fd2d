import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
} from 'node:crypto'

/**
 * An independent implementation of JWE (RFC 7516, 7518), built on `node:crypto`, to test that sealed messages follow
 * the standard, not just our library's reading of it.
 */

type JsonWebKey = { kty?: string; crv?: string; x?: string; y?: string; d?: string }

const ALGORITHM = 'A256GCM'

type Unsealed = { header: object; plaintext: Uint8Array; iv: Uint8Array }

/** ECDH-ES: `header.epk` is the public part of `ephemeral`. */
export function sealToPublicKey(message: Unsealed, publicKey: JsonWebKey, ephemeral: JsonWebKey) {
  return assemble(message, agreeOnKey(ephemeral, publicKey))
}

/** `dir`: both sides know the key. */
export function sealWithSharedKey(message: Unsealed, key: Uint8Array): string {
  return assemble(message, key)
}

export function openWithPrivateKey(jwe: string, privateKey: JsonWebKey) {
  const { header } = parseJwe(jwe)
  return disassemble(jwe, agreeOnKey(privateKey, header['epk'] as JsonWebKey))
}

export function openWithSharedKey(jwe: string, key: Uint8Array) {
  return disassemble(jwe, key)
}

/** RFC 7518 §4.6: ECDH on P-256, then the Concat KDF (NIST SP 800-56A). */
function agreeOnKey(privateKey: JsonWebKey, publicKey: JsonWebKey): Buffer {
  const { d: _private, ...publicPart } = publicKey
  const secret = diffieHellman({
    privateKey: createPrivateKey({ key: privateKey, format: 'jwk' }),
    publicKey: createPublicKey({ key: publicPart, format: 'jwk' }),
  })
  return deriveKey(secret)
}

/** One round of the Concat KDF over the x coordinate of the agreed point. */
export function deriveKey(secret: Uint8Array): Buffer {
  const algorithm = Buffer.from(ALGORITHM)
  const parts = [uint32(1), secret, uint32(algorithm.length), algorithm]
  const [noPartyU, noPartyV, keyBits] = [uint32(0), uint32(0), uint32(256)]
  return createHash('sha256')
    .update(Buffer.concat([...parts, noPartyU, noPartyV, keyBits]))
    .digest()
}

function assemble({ header, plaintext, iv }: Unsealed, key: Uint8Array): string {
  const encodedHeader = Buffer.from(JSON.stringify(header)).toString('base64url')
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(encodedHeader, 'ascii'))
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  const parts = [Buffer.from(iv), ciphertext, cipher.getAuthTag()]
  return [encodedHeader, '', ...parts.map((part) => part.toString('base64url'))].join('.')
}

function disassemble(jwe: string, key: Uint8Array) {
  const { encodedHeader, header, iv, ciphertext, tag } = parseJwe(jwe)
  const decipher = createDecipheriv('aes-256-gcm', key, iv)
  decipher.setAAD(Buffer.from(encodedHeader, 'ascii'))
  decipher.setAuthTag(tag)
  return { header, plaintext: Buffer.concat([decipher.update(ciphertext), decipher.final()]) }
}

function parseJwe(jwe: string) {
  const [encodedHeader = '', , ...rest] = jwe.split('.')
  const [iv, ciphertext, tag] = rest.map((part) => Buffer.from(part, 'base64url'))
  const header = JSON.parse(Buffer.from(encodedHeader, 'base64url').toString())
  const parts = { encodedHeader, header: header as Record<string, unknown> }
  return { ...parts, iv, ciphertext, tag } as typeof parts & {
    iv: Buffer
    ciphertext: Buffer
    tag: Buffer
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
