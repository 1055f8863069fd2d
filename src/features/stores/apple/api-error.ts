import { MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Claims } from './token.ts'

/**
 * `refused_key`: wrong, lacks a permission, or the app was never released. `unknown`: no such transaction in this
 * environment. `page_expired`: read from the first page again. `busy`: too many requests, or a temporary fault.
 */
type Reason =
  | 'unreachable'
  | 'unreadable'
  | 'refused_key'
  | 'unknown'
  | 'page_expired'
  | 'busy'
  | 'rejected'

const SENTENCES: Record<Reason, string> = {
  unreachable: 'Apple cannot be reached, or its response is not readable.',
  unreadable: "Apple's response is not signed as expected.",
  refused_key:
    'Apple refuses the key. Check APP_STORE_ISSUER_ID, APP_STORE_KEY_ID and APP_STORE_KEY_FILE: the key must be an In-App Purchase key that is not revoked. In production, Apple also refuses every key until a version of the app has been released.',
  unknown: 'Apple has no record of this transaction.',
  page_expired: 'The page token has expired.',
  busy: 'Apple is busy or limits requests.',
  rejected: 'Apple rejects the request.',
}

const UNKNOWN_CODES = new Set([4040005, 4040010])
const PAGE_CODES = new Set([4000014, 4000017])
const TEMPORARY_CODES = new Set([4040002, 4040004, 4040006, 4290000])

/** https://developer.apple.com/documentation/appstoreserverapi/error_codes */
export class AppleApiError extends Error {
  override readonly name = 'AppleApiError'
  readonly reason: Reason
  /** Apple's `errorCode`; null if there is none. */
  readonly code: number | null
  /** When to call again; null if Apple does not say. */
  readonly retryAt: Date | null

  constructor(reason: Reason, code: number | null = null, retryAt: Date | null = null) {
    super(SENTENCES[reason] + (code === null ? '' : ` (code ${code})`))
    this.reason = reason
    this.code = code
    this.retryAt = retryAt
  }

  static fromReply({ status, headers }: Response, { errorCode }: Claims, now: Date) {
    const code = typeof errorCode === 'number' ? errorCode : null
    return new AppleApiError(classifyReason(status, code), code, retryTime(headers, now))
  }
}

function classifyReason(status: number, code: number | null): Reason {
  if (status === 401 || status === 403) return 'refused_key'
  if (status === 429 || status >= 500 || TEMPORARY_CODES.has(code ?? 0)) return 'busy'
  if (PAGE_CODES.has(code ?? 0)) return 'page_expired'
  return UNKNOWN_CODES.has(code ?? 0) ? 'unknown' : 'rejected'
}

/** Apple's `Retry-After` is a time in ms, unlike the standard. */
function retryTime(headers: Headers, now: Date): Date | null {
  const ms = Number(headers.get('retry-after') ?? Number.NaN)
  const isSoon = ms > now.getTime() && ms < now.getTime() + 120 * MINUTE_MS
  return isSoon ? new Date(ms) : null
}
