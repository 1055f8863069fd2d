/** Every error code of the API. `http/errors.ts` maps each to a status. */
export type ErrorCode =
  | 'malformed_request'
  | 'encryption_invalid'
  | 'encryption_stale'
  | 'encryption_unknown_key'
  | 'unauthenticated'
  | 'token_expired'
  | 'invalid_credentials'
  | 'forbidden'
  | 'recent_sign_in_required'
  | 'two_factor_required'
  | 'sign_up_closed'
  | 'encryption_required'
  | 'quota_exceeded'
  | 'not_found'
  | 'method_not_allowed'
  | 'email_taken'
  | 'request_timeout'
  | 'conflict'
  | 'encryption_replay'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'image_unreadable'
  | 'image_too_large'
  | 'rate_limited'
  | 'internal_error'
  | 'unavailable'
  | 'webhook_not_configured'
  | 'insufficient_storage'

/** The problem at a JSON path such as `profile.name`. Never contains the value. */
export type ErrorDetail = { path: string; message: string }

/** The codes with status 401. */
type DenialCode = 'unauthenticated' | 'token_expired' | 'invalid_credentials'
export type NonDenialCode = Exclude<ErrorCode, DenialCode>

/** Why a request was answered with 401, for the log and the metrics; the reply does not say why. */
export const DENIAL_REASONS = [
  'missing',
  'malformed',
  'forged',
  'unknown_key',
  'wrong_issuer',
  'expired',
  'signed_out',
  'revoked',
  'token_reused',
  'session_expired',
  'session_ended',
  'account_deleted',
  'unknown_token',
  'wrong_token',
  'wrong_signature',
  'wrong_algorithm',
  'wrong_chain',
  'untrusted_chain',
  'wrong_certificate',
  'wrong_signed_date',
  'wrong_environment',
  'contradiction',
  'wrong_id_token',
  'wrong_password',
  'wrong_code',
  'wrong_passkey',
  'unknown_account',
] as const

export type DenialReason = (typeof DENIAL_REASONS)[number]

/** `userId` and `sessionId` are set when the account or session is known for certain. */
export type Denial = { reason: DenialReason; userId?: string; sessionId?: string }

type ErrorExtras = { details?: ErrorDetail[]; retryAfterSeconds?: number; cause?: unknown }

/** An error with a message that is safe to show. Any other thrown error is a bug. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetail[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly denial: Denial | undefined

  constructor(code: DenialCode, message: string, extras: ErrorExtras & { denial: Denial })
  constructor(code: NonDenialCode, message: string, extras?: ErrorExtras)
  constructor(code: ErrorCode, message: string, extras: ErrorExtras & { denial?: Denial } = {}) {
    super(message, { cause: extras.cause })
    this.name = 'AppError'
    this.code = code
    this.details = extras.details
    this.retryAfterSeconds = extras.retryAfterSeconds
    this.denial = extras.denial
  }
}

/** Also for resources that the caller may not see: the reply must not distinguish the two cases. */
export function notFound(): AppError {
  return new AppError('not_found', 'Not found.')
}

/** A queue is full; the client tries again after five seconds. */
export function tooBusy(message: string): AppError {
  return new AppError('unavailable', message, { retryAfterSeconds: 5 })
}

/** One field of the request is invalid. `message` says what it must be, never its value. */
export function invalidField(path: string, message: string): AppError {
  return invalidFields([{ path, message }])
}

export function invalidFields(details: ErrorDetail[]): AppError {
  return new AppError('validation_failed', 'Some fields are invalid.', { details })
}

export function accountDeleted(userId: string): AppError {
  return new AppError('unauthenticated', 'This account no longer exists.', {
    denial: { reason: 'account_deleted', userId },
  })
}

/** A change of credentials needs a code, because two-factor is on. */
export function codeRequired(): AppError {
  return new AppError('two_factor_required', 'Enter the code of your authenticator app.')
}

/** `userId`: the user or operator whose code was expected. */
export function wrongCode(userId: string): AppError {
  return new AppError('invalid_credentials', 'The code is wrong or was used before.', {
    denial: { reason: 'wrong_code', userId },
  })
}
