import type { ErrorCode } from '../lib/errors.ts'

/** What went wrong on this side of the server: there is no answer, none that can be believed, or the device failed. */
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

/** A field that is wrong: where in the request, and what it must be. */
export type ErrorDetail = { path: string; message: string }

type Failure = {
  /** The status of the reply; 0 without one. */
  status: number
  /** Newer servers may know codes that this client does not. */
  code: ErrorCode | ClientCode | (string & {})
  message: string
  details?: ErrorDetail[]
  /** Tells the operator which line of the log it was. */
  requestId?: string
  /** Seconds after which it may be tried again, where the server said so. */
  retryAfter?: number
  /** The server itself said so: in sealed mode anybody on the way can answer in plain. */
  isGenuine?: boolean
  cause?: unknown
}

/** Every failure of the client. */
export class ApiError extends Error {
  /** Of the reply; 0 without one. */
  readonly status: number
  /** What went wrong, for programs; newer servers may know codes that this client does not. */
  readonly code: Failure['code']
  /** Which fields are wrong; empty where none is to blame. */
  readonly details: ErrorDetail[]
  /** Names the request in the log of the server. */
  readonly requestId: string | null
  /** Seconds after which it may be tried again, where the server said so. */
  readonly retryAfter: number | null
  /** Whether the server itself said so: in sealed mode anybody on the way can answer in plain. */
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
}
