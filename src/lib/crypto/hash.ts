import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** SHA-256, base64url by default. */
export function sha256(
  content: string | Uint8Array,
  encoding: 'base64url' | 'base64' | 'hex' = 'base64url',
): string {
  return createHash('sha256').update(content).digest(encoding)
}

/** SHA-512 as base64, for integrity checks by npm. */
export function sha512(content: Uint8Array): string {
  return createHash('sha512').update(content).digest('base64')
}

/** HMAC-SHA256 as base64url. */
export function hmac(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** Compares two strings in a time that reveals neither their content nor their length. */
export function equalInConstantTime(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** The SHA-256 of a file of any size, in hex. */
export async function hashFile(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk)
  return hasher.digest('hex')
}
