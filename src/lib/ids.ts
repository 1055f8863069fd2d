import { randomBytes } from 'node:crypto'

const KEY_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** A new UUIDv7, which sorts by creation time. */
export function newId(): string {
  return Bun.randomUUIDv7()
}

/** A random name of 26 lower-case letters and digits (134 bits), safe in any path or URL. */
export function newKey(): string {
  let key = ''
  while (key.length < 26) {
    for (const byte of randomBytes(32)) {
      // 252 is the largest multiple of 36 in a byte: beyond it the first letters would be more likely.
      if (byte < 252 && key.length < 26) key += KEY_ALPHABET[byte % 36]
    }
  }
  return key
}
