/** Every failure that a caller may be told about. The status of each stands in `http/errors.ts`. */
export type ErrorCode =
  | 'malformed_request'
  | 'encryption_invalid'
  | 'encryption_stale'
  | 'encryption_unknown_key'
  | 'unauthenticated'
  | 'token_expired'
  | 'invalid_credentials'
  | 'forbidden'
  | 'encryption_required'
  | 'quota_exceeded'
  | 'not_found'
  | 'method_not_allowed'
  | 'email_taken'
  | 'conflict'
  | 'encryption_replay'
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

/** Where a value was wrong (a JSON path such as `profile.name`) and why. Never repeats the value. */
export type ErrorDetail = { path: string; message: string }

type ErrorExtras = { details?: ErrorDetail[]; retryAfterSeconds?: number; cause?: unknown }

/** A failure with a sentence that is safe to show. Anything else that is thrown is a bug of ours. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetail[] | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, { cause: extras.cause })
    this.name = 'AppError'
    this.code = code
    this.details = extras.details
    this.retryAfterSeconds = extras.retryAfterSeconds
  }
}
