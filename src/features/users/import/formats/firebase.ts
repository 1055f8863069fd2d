import {
  type FirebaseParameters,
  firebaseHash,
} from '../../../../lib/passwords/imported-password-hashes.ts'
import { asRows, type Draft, findUsableName, Refusal, type Row } from '../user-record.ts'

const PROVIDERS: Record<string, string> = { 'google.com': 'google', 'apple.com': 'apple' }

/** A user of `firebase auth:export`: https://firebase.google.com/docs/cli/auth#file_format. */
export function firebaseDraft(row: Row, parameters: FirebaseParameters | null): Draft {
  if (row['disabled'] === true) throw new Refusal('is disabled')
  const providers = asRows(row['providerUserInfo'], 'providerUserInfo')
  return {
    formerId: row['localId'],
    email: row['email'],
    emailVerified: row['emailVerified'] === true,
    name: findUsableName(row['displayName']),
    createdAt: row['createdAt'],
    passwordHash: toHash(row, parameters),
    identities: providers.map(({ providerId, rawId, email }) => ({
      provider: PROVIDERS[String(providerId)],
      subject: rawId,
      email,
    })),
    withoutSignIn: explainMissingSignIn(
      row,
      providers.map(({ providerId }) => String(providerId)),
    ),
  }
}

function toHash({ passwordHash, salt }: Row, parameters: FirebaseParameters | null): string | null {
  if (typeof passwordHash !== 'string' || passwordHash === '') return null
  if (parameters === null) throw new Refusal('has a password, but --hash-config is missing')
  if (typeof salt !== 'string' || salt === '')
    throw new Refusal('has a password hash without a salt')
  const hash = firebaseHash(parameters, passwordHash, salt)
  if (hash === null) throw new Refusal('the password hash does not fit the signer key')
  return hash
}

function explainMissingSignIn({ phoneNumber }: Row, providers: string[]): string {
  if (phoneNumber) return 'signs in with a phone number only'
  const [provider] = providers.filter((name) => name !== 'phone' && name !== 'password')
  return provider === undefined
    ? 'is anonymous, or has no e-mail address'
    : `signs in with ${provider} only, and has no e-mail address`
}
