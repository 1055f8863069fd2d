import type { ErrorCode } from '../lib/errors.ts'

/** Errors that the client itself detects: no response, an untrusted response, or a device failure. */
type ClientCode =
  | 'network_error'
  | 'timeout'
  | 'aborted'
  | 'reply_invalid'
  | 'reply_not_sealed'
  | 'no_trusted_key'
  | 'session_ended'
  | 'token_lost'
  | 'storage_failed'
  | 'file_unreadable'
  | 'unexpected'

/** An invalid field: its path in the request, and the rule that it breaks. */
export type ErrorDetail = { path: string; message: string }

type Failure = {
  /** The HTTP status of the response; 0 if there was none. */
  status: number
  /** Newer servers may return codes that this client does not know. */
  code: ErrorCode | ClientCode | (string & {})
  message: string
  details?: ErrorDetail[]
  /** Identifies the request in the server's log. */
  requestId?: string
  /** Seconds to wait before trying again, if the server said so. */
  retryAfter?: number
  /** Whether the server itself sent the error: in sealed mode an intermediary can send a plain response. */
  isGenuine?: boolean
  cause?: unknown
}

/** The error that every function of the client throws. */
export class ApiError extends Error {
  /** The HTTP status of the response; 0 if there was none. */
  readonly status: number
  /** A machine-readable error code; newer servers may return codes that this client does not know. */
  readonly code: Failure['code']
  /** The invalid fields, if there are any. */
  readonly details: ErrorDetail[]
  /** Identifies the request in the server's log. */
  readonly requestId: string | null
  /** Seconds to wait before trying again, if the server said so. */
  readonly retryAfter: number | null
  /** Whether the server itself sent the error: in sealed mode an intermediary can send a plain response. */
  readonly isGenuine: boolean

  constructor(failure: Failure) {
    super(failure.message, { cause: failure.cause })
    this.name = 'ApiError'
    this.status = failure.status
    this.code = failure.code
    this.details = failure.details ?? []
    this.requestId = failure.requestId ?? null
    this.retryAfter = failure.retryAfter ?? null
    this.isGenuine = failure.isGenuine ?? false
  }
  /** For logs: without this, JSON would contain only the name. */
  toJSON() {
    const { name, message, status, code, details, requestId, retryAfter } = this
    return { name, message, status, code, details, requestId, retryAfter }
  }
}

/** An error that the client detects without a response. */
export function clientError(code: Failure['code'], message: string, cause?: unknown): ApiError {
  return new ApiError({ status: 0, code, message, cause })
}
