import type { ErrorCode } from '../../lib/errors.ts'
import type { ErrorDetail } from '../api-error.ts'

/** An error reply. */
export type Failure = Error & { code: ErrorCode; details?: ErrorDetail[] }

export function failure(code: ErrorCode, message: string, details?: ErrorDetail[]): Failure {
  return Object.assign(new Error(message), details ? { code, details } : { code })
}

export function invalidField(path: string, message: string): Failure {
  return failure('validation_failed', 'Some fields are invalid.', [{ path, message }])
}

export function notFound(): Failure {
  return failure('not_found', 'Not found.')
}

export function notSignedIn(): Failure {
  return failure('unauthenticated', 'The token is invalid or has expired: sign in again.')
}

export function invalidLink(): Failure {
  return failure('unauthenticated', 'This link was already used or has expired: request a new one.')
}

export function codeRequired(): Failure {
  return failure('two_factor_required', 'Enter the code of your authenticator app.')
}

export function wrongCode(): Failure {
  return failure('invalid_credentials', 'The code is wrong or was used before.')
}

export function emailTaken(): Failure {
  return failure(
    'email_taken',
    'An account with this e-mail address already exists: sign in instead.',
  )
}

/** Throws `validation_failed` unless the input has these texts. */
export function checkTexts(input: object, names: string[]) {
  const wrong = names.filter((name) => typeof (input as Record<string, unknown>)[name] !== 'string')
  if (wrong.length === 0) return
  const details = wrong.map((path) => ({ path, message: 'must be text' }))
  throw failure('validation_failed', 'Some fields are invalid.', details)
}
