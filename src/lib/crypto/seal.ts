import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const NONCE_LENGTH = 12
const TAG_LENGTH = 16

/** Encrypts text with AES-256-GCM. Returns nonce, ciphertext and tag in base64url. */
export function seal(key: Uint8Array, text: string): string {
  const nonce = randomBytes(NONCE_LENGTH)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url')
}

/** Decrypts sealed text. Throws when the key is wrong or a bit has changed. */
export function unseal(key: Uint8Array, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_LENGTH))
  decipher.setAuthTag(bytes.subarray(-TAG_LENGTH))
  const text = decipher.update(bytes.subarray(NONCE_LENGTH, -TAG_LENGTH))
  return Buffer.concat([text, decipher.final()]).toString('utf8')
}
