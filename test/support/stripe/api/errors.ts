type ErrorFields = {
  status?: number
  type?: 'invalid_request_error' | 'idempotency_error' | 'api_error' | 'card_error'
  code?: string
  param?: string
  message: string
  headers?: Record<string, string>
}

/** An error in Stripe's format. `isSaved`: a retry with the same idempotency key gets it again. */
export class StripeApiError extends Error {
  readonly status: number
  readonly body: { error: Record<string, string> }
  readonly headers: Record<string, string>
  readonly isSaved: boolean

  constructor(fields: ErrorFields, { isSaved = false } = {}) {
    const { status = 400, type = 'invalid_request_error', code, param, message } = fields
    super(message)
    this.status = status
    this.headers = fields.headers ?? {}
    this.isSaved = isSaved
    this.body = {
      error: {
        ...(code === undefined
          ? {}
          : { code, doc_url: `https://stripe.com/docs/error-codes/${code.replaceAll('_', '-')}` }),
        message,
        ...(param === undefined ? {} : { param }),
        request_log_url: 'https://dashboard.stripe.com/logs/req_fake',
        type,
      },
    }
  }
}

/** `kind` is Stripe's name, such as `checkout.session`. An object of the other mode is missing too. */
export function missing(
  kind: string,
  id: string,
  { param = 'id', status = 404, otherMode }: MissingOptions = {},
): StripeApiError {
  const hint =
    otherMode === undefined
      ? ''
      : `; a similar object exists in ${otherMode} mode, but a ${otherMode === 'live' ? 'test' : 'live'} mode key was used to make this request.`
  const message = `No such ${kind}: '${id}'${hint}`
  return new StripeApiError({ status, code: 'resource_missing', param, message }, { isSaved: true })
}

type MissingOptions = { param?: string; status?: number; otherMode?: 'live' | 'test' }

export function invalid(message: string, param?: string, code?: string): StripeApiError {
  return new StripeApiError({
    message,
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  })
}
