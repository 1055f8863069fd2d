import { createHmac, randomBytes } from 'node:crypto'

const COUNT = 10
/** Crockford's base 32: no letter looks like a digit. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Ten codes of ten characters, five bits each. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => codeOf(randomBytes(10)))
}

/** Ten codes derived from a key and a text, so that they need not be stored. */
export function derivedRecoveryCodes(key: Uint8Array, text: string): string[] {
  return Array.from({ length: COUNT }, (_, at) => {
    const bytes = createHmac('sha256', key).update(`recovery-codes.${at}.${text}`).digest()
    return codeOf(bytes.subarray(0, 10))
  })
}

function codeOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => ALPHABET[byte % 32]).join('')
}

/** A code, of this kind or of an authenticator app, without the spaces, dashes and capitals that a user may type. */
export function plainCode(typed: string): string {
  return typed.toLowerCase().replace(/[\s-]/g, '')
}
