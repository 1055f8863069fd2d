import { type Json, toObject } from '../../../../lib/text/json.ts'
import { text, toList } from '../../json.ts'

/**
 * `refused_key`: the service account lacks a permission, or the API is not enabled. `unknown`: no such purchase.
 * `gone`: it ended over 60 days ago. `busy`: too many requests, or a temporary fault.
 */
type Reason =
  | 'unreachable'
  | 'unreadable'
  | 'refused_key'
  | 'unknown'
  | 'gone'
  | 'busy'
  | 'limited'
  | 'rejected'

const SENTENCES: Record<Reason, string> = {
  unreachable: 'Google cannot be reached.',
  unreadable: "Google's response has no known state of the purchase.",
  refused_key:
    'Google refuses the service account. Enable the Google Play Android Developer API in its project, and invite its e-mail in Play Console → Users and permissions with "View financial data" and "Manage orders and subscriptions". New permissions take 24 to 48 hours to work.',
  unknown: 'Google has no record of this purchase.',
  gone: 'The purchase ended more than 60 days ago.',
  busy: 'Google is busy.',
  limited: 'Google limits requests.',
  rejected: 'Google rejects the request.',
}

/** https://developers.google.com/android-publisher/errors */
export class PlayApiError extends Error {
  override readonly name = 'PlayApiError'
  readonly reason: Reason
  /** How long Google asks to wait, in ms; null if it does not say. */
  readonly retryAfterMs: number | null

  constructor(reason: Reason, detail: string | null = null, retryAfterMs: number | null = null) {
    super(SENTENCES[reason] + (detail === null ? '' : ` (${detail})`))
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }

  static fromReply({ status, headers }: Response, reply: Json): PlayApiError {
    const error = toObject(reply['error'])
    const name = text(toList(error['errors'])[0]?.['reason']) ?? text(error['status'])
    const seconds = Number(headers.get('retry-after') ?? Number.NaN)
    const retryAfterMs = seconds > 0 && seconds < 86_400 ? seconds * 1000 : null
    const detail = name === null ? String(status) : `${status} ${name}`
    return new PlayApiError(classifyReason(status), detail, retryAfterMs)
  }
}

function classifyReason(status: number): Reason {
  if (status === 401 || status === 403) return 'refused_key'
  if (status === 400 || status === 404) return 'unknown'
  if (status === 410) return 'gone'
  if (status === 429) return 'limited'
  return status === 409 || status >= 500 ? 'busy' : 'rejected'
}
