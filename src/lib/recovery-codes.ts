import { randomBytes } from 'node:crypto'

const COUNT = 10
/** Crockford's base 32: no letter looks like a digit. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Ten codes of ten characters of five bits. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () =>
    Array.from(randomBytes(10), (byte) => ALPHABET[byte % 32]).join(''),
  )
}

/** A code as it was made, however it was typed. */
export function plainRecoveryCode(typed: string): string {
  return typed.toLowerCase().replace(/[\s-]/g, '')
}
