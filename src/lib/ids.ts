import { randomBytes } from 'node:crypto'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const KEY_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** A new UUIDv7, which sorts by creation time. */
export function newId(): string {
  return Bun.randomUUIDv7()
}

export function isId(text: string): boolean {
  return UUID_V7.test(text)
}

/** When a UUIDv7 was generated, in ms since 1970. */
export function readIdTime(id: string): number {
  return Number.parseInt(id.slice(0, 13).replace('-', ''), 16)
}

/** Text that sorts before every UUIDv7 generated at `at` or later, and after all earlier ones. */
export function firstIdAt(at: number): string {
  const hex = Math.max(0, at).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

/** A random name of 26 lower-case letters and digits (134 bits), safe in any path or URL. */
export function newKey(): string {
  return randomCharacters(KEY_ALPHABET, 26)
}

/** `length` characters of `alphabet`, each of them equally likely. */
export function randomCharacters(alphabet: string, length: number): string {
  // The largest multiple of the alphabet's length in a byte: beyond it the first characters would be more likely.
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(32)) {
      if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}
