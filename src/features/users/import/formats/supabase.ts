import { toEmailKey } from '../../../../lib/text/email-address.ts'
import {
  asRows,
  type Draft,
  findUsableName,
  parseJson,
  parseTime,
  Refusal,
  type Row,
} from '../user-record.ts'

/** A row of Supabase's `auth.users`, with its rows of `auth.identities` as `identities`. */
export function supabaseDraft(row: Row): Draft {
  if (row['deleted_at']) throw new Refusal('is deleted')
  if (isBanned(row['banned_until'])) throw new Refusal('is banned')
  const metadata = asRow(row['raw_user_meta_data'])
  return {
    formerId: row['id'],
    email: row['email'],
    emailVerified: isVerified(row),
    name: findUsableName(metadata['name'], metadata['full_name']),
    locale: metadata['locale'],
    createdAt: row['created_at'],
    passwordHash: row['encrypted_password'],
    identities: asRows(row['identities'], 'identities').map(toIdentity),
    withoutSignIn: explainMissingSignIn(row),
  }
}

/** The shortest time in which someone can open the link in an e-mail. */
const MIN_CONFIRMATION_MS = 2_000

/**
 * Without "Confirm email", Supabase confirms every address immediately, even a stranger's. Google and Apple may have
 * verified a different one.
 */
function isVerified(row: Row): boolean {
  const address = toEmailKey(String(row['email']))
  const isByProvider = asRows(row['identities'], 'identities')
    .map(toIdentity)
    .filter(({ provider }) => provider === 'google' || provider === 'apple')
    .some(({ email }) => toEmailKey(String(email)) === address)
  const delay = readTime(row['email_confirmed_at']) - readTime(row['created_at'])
  return isByProvider || delay > MIN_CONFIRMATION_MS
}

function readTime(value: unknown): number {
  return typeof value === 'string' ? parseTime(value) : Number.NaN
}

/** Before 2023, the provider's id was only in `identity_data`. */
function toIdentity({ provider, provider_id: id, identity_data: data }: Row) {
  const { sub, email } = asRow(data)
  return { provider, subject: sub ?? id, email }
}

function isBanned(until: unknown): boolean {
  if (typeof until !== 'string' || until === '') return false
  const time = parseTime(until)
  // `infinity` is a valid time in PostgreSQL.
  return Number.isNaN(time) || time > Date.now()
}

/** In CSV, a JSON column is text. */
function asRow(value: unknown): Row {
  const row = typeof value === 'string' && value !== '' ? parseJson(value) : value
  return typeof row === 'object' && row !== null ? (row as Row) : {}
}

function explainMissingSignIn({ is_anonymous: isAnonymous, phone }: Row): string {
  if (isAnonymous === true || isAnonymous === 'true' || isAnonymous === 't') return 'is anonymous'
  return phone ? 'signs in with a phone number only' : 'has no e-mail address'
}
