import { createHmac, randomBytes } from 'node:crypto'

const COUNT = 10
/** Crockford's base 32: no letter looks like a digit. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Ten codes of ten characters, five bits each. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => toCode(randomBytes(10)))
}

/** Ten codes derived from a key and a text, so that they need not be stored. */
export function derivedRecoveryCodes(key: Uint8Array, text: string): string[] {
  return Array.from({ length: COUNT }, (_, at) => {
    const bytes = createHmac('sha256', key).update(`recovery-codes.${at}.${text}`).digest()
    return toCode(bytes.subarray(0, 10))
  })
}

function toCode(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => ALPHABET[byte % 32]).join('')
}

/** Accepts any case, spaces, dashes, invisible characters, digits of any script, and Crockford's look-alike letters. */
export function plainCode(typed: string): string {
  return typed
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{Nd}]/gu, '')
    .replace(/\p{Nd}/gu, toDigit)
    .replaceAll('o', '0')
    .replace(/[il]/g, '1')
}

/** The decimal digits of a script are consecutive code points that begin with its zero. */
function toDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return String((code - zero) % 10)
}
