import { type Json, toObject } from '../../../../lib/text/json.ts'
import { text } from '../../json.ts'

/** `unknown`: no such object. `busy`: a temporary fault. `rejected`: the request is wrong. */
type Reason =
  | 'unreachable'
  | 'unreadable'
  | 'refused_key'
  | 'unknown'
  | 'busy'
  | 'limited'
  | 'rejected'

const SENTENCES: Record<Reason, string> = {
  unreachable: 'Stripe cannot be reached.',
  unreadable: 'Stripe’s response cannot be read.',
  refused_key: 'Stripe refuses the API key.',
  unknown: 'Stripe has no such object.',
  busy: 'Stripe is busy.',
  limited: 'Stripe limits requests.',
  rejected: 'Stripe rejects the request.',
}

/** https://docs.stripe.com/api/errors */
export class StripeApiError extends Error {
  override readonly name = 'StripeApiError'
  readonly reason: Reason
  /** Stripe's error code, and the parameter at fault; null for none. */
  readonly code: string | null
  readonly param: string | null
  /** How long Stripe asks to wait, in ms; null if it does not say. */
  readonly retryAfterMs: number | null = null

  constructor(reason: Reason, { error }: Json = {}) {
    const { message, code, param } = toObject(error)
    // The message may name a permission that the key lacks, and shows a part of the key.
    const shown = (text(message, 500) ?? '').replace(/\b([rs]k_[a-z]+_)[\w*]+/g, '$1…')
    super([SENTENCES[reason], shown].join(' ').trim())
    this.reason = reason
    this.code = text(code)
    this.param = text(param)
  }

  static fromReply({ status }: Response, reply: Json): StripeApiError {
    return new StripeApiError(classify(status, toObject(reply['error'])), reply)
  }
}

function classify(status: number, { code }: Json): Reason {
  if (status === 401 || status === 403) return 'refused_key'
  if (status === 404 || code === 'resource_missing') return 'unknown'
  if (status === 429 || code === 'lock_timeout') return 'limited'
  return status === 409 || status >= 500 ? 'busy' : 'rejected'
}

/** The reply to a request about an object that Stripe does not have. */
export function ignoreUnknown(error: unknown): Json {
  if (error instanceof StripeApiError && error.reason === 'unknown') return {}
  throw error
}
