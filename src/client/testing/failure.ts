import type { ErrorCode } from '../../lib/errors.ts'
import type { ErrorDetail } from '../api-error.ts'

/** The HTTP status of each error code. */
export const STATUS: Record<ErrorCode, number> = {
  malformed_request: 400,
  encryption_invalid: 400,
  encryption_stale: 400,
  encryption_unknown_key: 400,
  unauthenticated: 401,
  token_expired: 401,
  invalid_credentials: 401,
  forbidden: 403,
  recent_sign_in_required: 403,
  two_factor_required: 403,
  sign_up_closed: 403,
  encryption_required: 403,
  quota_exceeded: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  email_taken: 409,
  conflict: 409,
  encryption_replay: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  image_unreadable: 422,
  image_too_large: 422,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
  webhook_not_configured: 503,
  insufficient_storage: 507,
}

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
