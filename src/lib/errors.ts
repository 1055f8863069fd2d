export const STATUS = {
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
  wrong_origin: 403,
  encryption_required: 403,
  quota_exceeded: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  email_taken: 409,
  conflict: 409,
  not_for_sale: 409,
  already_subscribed: 409,
  subscribed_elsewhere: 409,
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
} as const

export type ErrorCode = keyof typeof STATUS

/** The problem at a JSON path such as `profile.name`. Never contains the value. */
export type ErrorDetail = { path: string; message: string }

/** The codes with status 401. */
type DenialCode = 'unauthenticated' | 'token_expired' | 'invalid_credentials'
export type NonDenialCode = Exclude<ErrorCode, DenialCode>

/** Why a request was answered with 401, for the log and the metrics; the response does not say why. */
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

/** Also used for resources that the caller may not see: the response must not distinguish the two cases. */
export function notFound(): AppError {
  return new AppError('not_found', 'Not found.')
}

/** Another process has taken over the data. */
export function restarting(): AppError {
  return new AppError('unavailable', 'The server is restarting. Try again in a moment.', {
    retryAfterSeconds: 1,
  })
}

/** A queue is full; the client tries again after five seconds. */
export function tooBusy(message: string): AppError {
  return new AppError('unavailable', message, { retryAfterSeconds: 5 })
}

/** One field of the request is invalid. `message` says what it must be, never its value; `sentence` sums it up. */
export function invalidField(path: string, message: string, sentence?: string): AppError {
  return invalidFields([{ path, message }], sentence)
}

export function invalidFields(
  details: ErrorDetail[],
  sentence = 'Some fields are invalid.',
): AppError {
  return new AppError('validation_failed', sentence, { details })
}

export function accountDeleted(userId: string): AppError {
  return new AppError('unauthenticated', 'This account no longer exists.', {
    denial: { reason: 'account_deleted', userId },
  })
}

/** A change of credentials needs a code, because two-factor is on. */
export function codeRequired(): AppError {
  return new AppError('two_factor_required', 'Enter the code from your authenticator app.')
}

/** `userId`: the user or operator whose code was expected. */
export function wrongCode(userId: string): AppError {
  return new AppError('invalid_credentials', 'The code is wrong or was used before.', {
    denial: { reason: 'wrong_code', userId },
  })
}

/** The result of `read`; undefined if it throws. For values that may be missing or malformed, whatever the reason. */
export function tryTo<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
