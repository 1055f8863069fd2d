import type { FirebaseParameters } from '../../../../lib/passwords/imported-password-hashes.ts'
import { asRows, type Draft, isProvider, Refusal, type Row } from '../user-record.ts'
import { firebaseDraft } from './firebase.ts'
import { pocketbaseDraft } from './pocketbase.ts'
import { supabaseDraft } from './supabase.ts'

export const FORMATS = ['jsonl', 'firebase', 'supabase', 'pocketbase'] as const
export type Format = (typeof FORMATS)[number]

export function detectFormat(row: Row): Format {
  if ('localId' in row) return 'firebase'
  if (['encrypted_password', 'raw_user_meta_data', 'email_confirmed_at'].some((key) => key in row))
    return 'supabase'
  if ('tokenKey' in row || 'collectionName' in row) return 'pocketbase'
  return 'jsonl'
}

/** Throws `Refusal`. */
export function toDraft(row: Row, format: Format, firebase: FirebaseParameters | null): Draft {
  if (format === 'firebase') return firebaseDraft(row, firebase)
  if (format === 'supabase') return supabaseDraft(row)
  if (format === 'pocketbase') return pocketbaseDraft(row)
  return ownDraft(row)
}

const OWN_FIELDS = new Set([
  'id',
  'email',
  'emailVerified',
  'name',
  'locale',
  'timezone',
  'currency',
  'createdAt',
  'passwordHash',
  'identities',
])

function ownDraft(row: Row): Draft {
  const unknown = Object.keys(row).find((key) => !OWN_FIELDS.has(key))
  if (unknown !== undefined)
    throw new Refusal(`has an unknown field: ${JSON.stringify(unknown.slice(0, 40))}`)
  const { id, emailVerified = false, identities = [], ...rest } = row
  if (typeof emailVerified !== 'boolean') throw new Refusal('emailVerified is not true or false')
  const rows = asRows(identities, 'identities')
  if (!rows.every(({ provider }) => isProvider(provider)))
    throw new Refusal('has an identity whose provider is not google, apple or oidc')
  return {
    ...rest,
    formerId: id,
    emailVerified,
    identities: rows.map(({ provider, subject, email }) => ({ provider, subject, email })),
  }
}
