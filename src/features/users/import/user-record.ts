import { createHash } from 'node:crypto'
import { readForeignHash } from '../../../lib/passwords/imported-password-hashes.ts'
import { parseMailbox, toEmailKey, trimAddress } from '../../../lib/text/email-address.ts'
import { asCurrency, asLocale, asTimezone } from '../../../lib/text/locale.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { isStorableText } from '../../../lib/validation.ts'
import type { ProviderName } from '../social/identity-providers.ts'

/** `createdAt` in ms; null if it is unknown. */
export type UserRecord = {
  line: number
  id: string
  formerId: string | null
  email: string | null
  emailVerified: boolean
  name: string
  locale: string
  timezone: string
  currency: string
  createdAt: number | null
  /** In a format that `Passwords` can verify. */
  passwordHash: string | null
  identities: ImportedIdentity[]
}

type ImportedIdentity = { provider: ProviderName; subject: string; email: string | null }

/** An object or a row of a file. */
export type Row = Record<string, unknown>

/** A user as read from a file. Values may have any type; absent values are undefined or null. */
export type Draft = {
  formerId?: unknown
  email?: unknown
  emailVerified: boolean
  name?: unknown
  locale?: unknown
  timezone?: unknown
  currency?: unknown
  /** In ms, as a number or text, or in ISO 8601. */
  createdAt?: unknown
  passwordHash?: unknown
  identities: { provider: unknown; subject: unknown; email?: unknown }[]
  /** Why a user without an address and without a provider account cannot be imported. */
  withoutSignIn?: string
}

/** A user cannot be imported; the message says why, without the user's values, so that reasons can be counted. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

const MAX_NAME_LENGTH = 100
const MAX_READ_NAME_LENGTH = 10_000
const MAX_ID_LENGTH = 255
const MAX_HASH_LENGTH = 512
const MAX_IDENTITIES = 8
/** Profile values that a user may change later. */
const DEFAULTS = { locale: 'en', timezone: 'utc', currency: 'usd' }
/** Earlier times are seconds that were mistaken for milliseconds. */
const MIN_CREATED_AT = Date.UTC(2000)

/** Validates a draft. `source` names the system that the former id is from. Throws `Refusal`. */
export function toUserRecord(draft: Draft, source: string, line: number): UserRecord {
  const email = readEmail(draft.email)
  const identities = readIdentities(draft.identities)
  if (email === null && identities.length === 0) {
    throw new Refusal(draft.withoutSignIn ?? 'has no e-mail address and no provider account')
  }
  const formerId = readText(draft.formerId, 'id', MAX_ID_LENGTH)
  const createdAt = readTime(draft.createdAt)
  const [first] = identities
  const key =
    formerId ?? (email === null ? `${first?.provider} ${first?.subject}` : toEmailKey(email))
  return {
    line,
    id: deriveImportedId(createdAt, `${source}\0${key}`),
    formerId,
    email,
    emailVerified: email !== null && draft.emailVerified,
    name: [...(readText(draft.name, 'name', MAX_READ_NAME_LENGTH) ?? '')]
      .slice(0, MAX_NAME_LENGTH)
      .join(''),
    locale: readProfileValue(draft.locale, asLocale, DEFAULTS.locale),
    timezone: readProfileValue(draft.timezone, asTimezone, DEFAULTS.timezone),
    currency: readProfileValue(draft.currency, asCurrency, DEFAULTS.currency),
    createdAt,
    // Without an address, a password cannot be used.
    passwordHash: email === null ? null : readHash(draft.passwordHash),
    identities,
  }
}

function readEmail(value: unknown): string | null {
  const text = readText(value, 'e-mail address', 1_000)
  const email = text && (trimAddress(text) || null)
  if (email !== null && parseMailbox(email) === null)
    throw new Refusal('has an invalid e-mail address')
  return email
}

function readIdentities(found: Draft['identities']): ImportedIdentity[] {
  const identities = new Map<string, ImportedIdentity>()
  for (const { provider, subject, email } of found) {
    if (!isProvider(provider)) continue
    const id = readText(subject, 'provider id', MAX_ID_LENGTH)
    if (id === null) throw new Refusal('has a provider account without its id')
    const address = typeof email === 'string' && parseMailbox(email) !== null ? email : null
    identities.set(`${provider} ${id}`, { provider, subject: id, email: address })
  }
  if (identities.size > MAX_IDENTITIES) throw new Refusal('has too many provider accounts')
  return [...identities.values()]
}

export function isProvider(name: unknown): name is ProviderName {
  return name === 'google' || name === 'apple' || name === 'oidc'
}

function readHash(value: unknown): string | null {
  const text = readText(value, 'password hash', MAX_HASH_LENGTH)
  if (text === null) return null
  const result = readForeignHash(text)
  if ('refused' in result) throw new Refusal(result.refused)
  return result.hash
}

/** Null for an absent or empty value. */
function readText(value: unknown, name: string, maxLength: number): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw new Refusal(`${name} is not text`)
  if (value.length > maxLength) throw new Refusal(`${name} is longer than ${maxLength} characters`)
  if (!isStorableText(value)) throw new Refusal(`${name} contains invalid characters`)
  return value
}

/** The first usable name: another system may have stored values of any kind as names. */
export function findUsableName(...values: unknown[]): string | undefined {
  return values.find((value): value is string => {
    const isText = typeof value === 'string' && value !== ''
    return isText && value.length <= MAX_READ_NAME_LENGTH && isStorableText(value)
  })
}

/** The objects in an array, or in the JSON text of an array. Throws `Refusal` for anything else. */
export function asRows(value: unknown, name: string): Row[] {
  if (value === undefined || value === null || value === '') return []
  const rows = typeof value === 'string' ? parseJson(value) : value
  const isValid =
    Array.isArray(rows) && rows.every((row) => typeof row === 'object' && row !== null)
  if (!isValid) throw new Refusal(`${name} is not an array of objects`)
  return rows
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('has a column with invalid JSON')
  }
}

function readProfileValue(
  value: unknown,
  normalize: (value: string) => string | null,
  defaultValue: string,
): string {
  return (typeof value === 'string' ? normalize(value) : null) ?? defaultValue
}

function readTime(value: unknown): number | null {
  if (value === undefined || value === null || value === '') return null
  const ms = /^\d+$/.test(String(value)) ? Number(value) : parseTime(String(value))
  if (!(ms >= MIN_CREATED_AT && ms < Date.now() + DAY_MS))
    throw new Refusal('has an invalid creation date')
  return ms
}

/** Parses ISO 8601 and the formats of PostgreSQL and SQLite, in UTC if there is no offset; NaN for other text. */
export function parseTime(text: string): number {
  const iso = text.trim().replace(' ', 'T')
  const zoned = iso.replace(/([+-]\d\d)$/, '$1:00')
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(zoned) ? zoned : `${zoned}Z`)
}

/** A UUIDv7 of the time of creation and a hash: the same in every import, so that imports can be repeated. */
function deriveImportedId(createdAt: number | null, key: string): string {
  const time = (createdAt ?? 0).toString(16).padStart(12, '0')
  const hash = createHash('sha256').update(`imported user\0${key}`).digest('hex')
  const variant = '89ab'[Number.parseInt(hash[15] ?? '0', 16) % 4]
  return [
    time.slice(0, 8),
    time.slice(8),
    `7${hash.slice(0, 3)}`,
    `${variant}${hash.slice(3, 6)}`,
    hash.slice(16, 28),
  ].join('-')
}

/** As in a sign-in with a provider, an unverified address from the provider does not become a login. */
export function findLoginKey(user: UserRecord): string | null {
  const { email, emailVerified, passwordHash, identities } = user
  if (email === null) return null
  const isLogin = emailVerified || passwordHash !== null || identities.length === 0
  return isLogin ? toEmailKey(email) : null
}
