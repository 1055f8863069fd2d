import { ApiError } from './api-error.ts'
import { utf8 } from './bytes.ts'
import type { Body } from './form.ts'
import { type Patience, pause } from './patience.ts'
import type { Reply, Send } from './transport.ts'

/** What a call may bring: a query, and a body as JSON or as it is. */
export type Call = {
  query?: Record<string, string | number | boolean | undefined> | undefined
  json?: unknown
  content?: Body
  headers?: Record<string, string>
  patience: Patience
}

export type Envelope = { code: string; response?: unknown; message?: string; next?: string }

/** A read that failed on the way is tried again after so many ms. */
const RETRY_DELAYS = [300, 1_000]
/** Who asks for more patience, in seconds, is believed but not waited for. */
const LONGEST_RETRY_AFTER = 5

export type Caller = ReturnType<typeof createCaller>

/** Turns calls into requests, and replies into their envelope or an `ApiError`. */
export function createCaller(
  send: Send,
  commonHeaders: () => Record<string, string>,
  now: () => number,
) {
  return async function call(
    method: string,
    path: string,
    token: string | null,
    { query, json, content, headers, patience }: Call,
  ): Promise<Envelope> {
    const body = content ?? (json === undefined ? null : asJson(json))
    const ask = async () => {
      const reply = await send({
        method: method.toUpperCase(),
        target: path + queryString(query),
        headers: { ...commonHeaders(), ...headers },
        token,
        contentType: body?.contentType ?? null,
        body: body?.body ?? null,
        patience,
      })
      const envelope = envelopeOf(reply)
      if (reply.status < 400 && isSuccess(envelope, method)) return envelope
      throw failureOf(reply, envelope, now)
    }
    return method === 'get' ? retried(ask, patience) : ask()
  }
}

/** Only what changes nothing is done again by itself. */
async function retried<T>(ask: () => Promise<T>, patience: Patience): Promise<T> {
  for (const delay of RETRY_DELAYS) {
    try {
      return await ask()
    } catch (error) {
      const wait = waitBeforeRetry(error, delay)
      if (wait === null || patience.failure()) throw error
      await pause(wait)
    }
  }
  return ask()
}

/** Milliseconds, a little by chance so that not all phones come back at once; null for what stays as it is. */
function waitBeforeRetry(error: unknown, delay: number): number | null {
  if (!(error instanceof ApiError)) return null
  const isTransient = error.code === 'network_error' || [502, 503, 504].includes(error.status)
  const asked = error.retryAfter ?? 0
  if (!isTransient || asked > LONGEST_RETRY_AFTER) return null
  return Math.max(delay * (0.5 + Math.random()), asked * 1000)
}

function asJson(value: unknown): Body {
  const body = utf8(JSON.stringify(value))
  return { contentType: 'application/json', body, size: body.length }
}

function queryString(query: Call['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encoded(String(value))}`],
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Just as it goes out: what is sealed names the query that the server will see. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/'/g, '%27')
}

function envelopeOf({ text }: Reply): Partial<Envelope> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Somebody on the way, such as the sign-in page of a hotel, answers other things with the same status. */
function isSuccess(envelope: Partial<Envelope>, method: string): envelope is Envelope {
  const { code, response, message } = envelope
  const hasData = typeof response === 'object' && response !== null
  return typeof code === 'string' && (hasData || (method !== 'get' && typeof message === 'string'))
}

function failureOf(
  { status, header, isGenuine }: Reply,
  envelope: Partial<Envelope>,
  now: () => number,
): ApiError {
  const { code, message, details, requestId } = envelope as Record<string, unknown>
  const isFailure = status >= 400 && typeof code === 'string'
  const retryAfter = secondsIn(header('retry-after'), now)
  return new ApiError({
    status,
    code: isFailure ? code : 'reply_invalid',
    message:
      isFailure && typeof message === 'string'
        ? message
        : `The server answered ${status} and nothing that can be read.`,
    ...(Array.isArray(details) ? { details } : {}),
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(retryAfter === null ? {} : { retryAfter }),
    isGenuine,
  })
}

/** `Retry-After` (RFC 9110) is a number of seconds or a date. */
function secondsIn(text: string | null, now: () => number): number | null {
  if (!text) return null
  if (/^-/.test(text)) return null
  const isNumber = /^[\d.]+$/.test(text)
  const seconds = Math.ceil(isNumber ? Number(text) : (Date.parse(text) - now()) / 1000)
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null
}
