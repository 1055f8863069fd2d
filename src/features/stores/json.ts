import { sha256 } from '../../lib/crypto/hash.ts'
import { type Json, toObject } from '../../lib/text/json.ts'
import { isStorableText } from '../../lib/validation.ts'

/** Google's purchase tokens have about 150 characters. */
const MAX_TOKEN_LENGTH = 2_000

/** A purchase token; null for anything else. */
export function token(value: unknown): string | null {
  return text(value, MAX_TOKEN_LENGTH)
}

export function text(value: unknown, maxLength = 255): string | null {
  const isText = typeof value === 'string' && value !== '' && value.length <= maxLength
  return isText && isStorableText(value) ? value : null
}

/** A time in ms, given in ms as a number or a string, or in RFC 3339; null for anything else. */
export function time(value: unknown): number | null {
  const ms =
    typeof value === 'string' && !/^\d+$/.test(value)
      ? Date.parse(value)
      : Number(value ?? Number.NaN)
  return Number.isFinite(ms) && ms >= 0 && ms <= MAX_DATE_MS ? Math.floor(ms) : null
}

/** The latest time that a `Date` can represent. */
const MAX_DATE_MS = 8.64e15

/** Personal data in Google's responses, apart from the account id that the app passed. */
const PERSONAL = new Set([
  'subscribeWithGoogleInfo',
  'reasonUserInput',
  'externalAccountId',
  'obfuscatedExternalProfileId',
  'obfuscatedProfileId',
])

/** Removes personal data from a document for the log, and replaces purchase tokens with hashes. */
export function redactForLog(document: Json): Json {
  return JSON.parse(JSON.stringify(document), (key, value) => {
    if (PERSONAL.has(key)) return undefined
    const isToken = /purchaseToken$/i.test(key) && typeof value === 'string'
    return isToken ? sha256(value, 'hex') : value
  })
}

/** The objects in a JSON array; empty for anything else. */
export function toList(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(toObject) : []
}
