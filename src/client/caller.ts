import { parseJson } from '../lib/text/json.ts'
import { ApiError } from './api-error.ts'
import { utf8 } from './bytes.ts'
import { type Deadline, sleep } from './deadline.ts'
import type { OnText } from './fetch.ts'
import type { Body } from './form.ts'
import type { Reply, Send } from './transport.ts'

/** The content of a call: a query, and a body as JSON or as bytes. */
export type Call = {
  query?: Record<string, string | number | boolean | undefined> | undefined
  json?: unknown
  content?: Body
  headers?: Record<string, string>
  /** Receives an event stream; the call returns when it ends. */
  onText?: OnText
  /** Receives the headers of each response. */
  onHeaders?: (header: Reply['header']) => void
  deadline: Deadline
}

export type Envelope = { code: string; response?: unknown; message?: string; next?: string }

/** Delays in ms before a read that failed on the network is retried. */
const RETRY_DELAYS_MS = [300, 1_000]
/** If the response asks for a longer wait, the request is not retried automatically. */
const MAX_RETRY_AFTER_SECONDS = 5

export type Caller = ReturnType<typeof createCaller>

/** Turns calls into requests, and responses into envelopes or `ApiError`s. */
export function createCaller(
  send: Send,
  commonHeaders: () => Record<string, string>,
  now: () => number,
) {
  return async function call(
    method: string,
    path: string,
    token: string | null,
    { query, json, content, headers, onText, onHeaders, deadline }: Call,
  ): Promise<Envelope> {
    const body = content ?? (json === undefined ? null : jsonBody(json))
    const sendRequest = async () => {
      const reply = await send({
        method: method.toUpperCase(),
        target: path + queryString(query),
        headers: { ...commonHeaders(), ...headers },
        token,
        contentType: body?.contentType ?? null,
        body: body?.body ?? null,
        onText,
        deadline,
      })
      onHeaders?.(reply.header)
      if (reply.isStream) return { code: 'ok' }
      const envelope: Partial<Envelope> = Object(parseJson(reply.text))
      if (reply.status < 400 && isSuccess(envelope, method)) return envelope
      throw toFailure(reply, envelope, now)
    }
    return method === 'get' ? withRetries(sendRequest, deadline) : sendRequest()
  }
}

/** Only reads are retried automatically. */
async function withRetries<T>(sendRequest: () => Promise<T>, deadline: Deadline): Promise<T> {
  for (const delay of RETRY_DELAYS_MS) {
    try {
      return await sendRequest()
    } catch (error) {
      const wait = waitBeforeRetry(error, delay)
      if (wait === null || deadline.failure()) throw error
      await sleep(wait)
    }
  }
  return sendRequest()
}

/** Milliseconds, randomized so that phones do not all retry at once; null if a retry would not help. */
function waitBeforeRetry(error: unknown, delay: number): number | null {
  if (!(error instanceof ApiError)) return null
  const isTransient = error.code === 'network_error' || [502, 503, 504].includes(error.status)
  const requestedSeconds = error.retryAfter ?? 0
  if (!isTransient || requestedSeconds > MAX_RETRY_AFTER_SECONDS) return null
  return Math.max(delay * (0.5 + Math.random()), requestedSeconds * 1000)
}

function jsonBody(value: unknown): Body {
  const body = utf8(JSON.stringify(value))
  return { contentType: 'application/json', body, size: body.length }
}

function queryString(query: Call['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeParameter(String(value))}`],
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Encodes like `fetch`, because a sealed request contains the query that the server will see. */
function encodeParameter(text: string): string {
  return encodeURIComponent(text).replace(/'/g, '%27')
}

/** Whether Homeport sent the response: a captive portal, for example, can return the same status. */
function isSuccess(envelope: Partial<Envelope>, method: string): envelope is Envelope {
  const { code, response, message } = envelope
  const hasData = typeof response === 'object' && response !== null
  return typeof code === 'string' && (hasData || (method !== 'get' && typeof message === 'string'))
}

function toFailure(
  { status, header, isGenuine }: Reply,
  envelope: Partial<Envelope>,
  now: () => number,
): ApiError {
  const { code, message, details, requestId } = envelope as Record<string, unknown>
  const isFailure = status >= 400 && typeof code === 'string'
  const retryAfter = parseRetryAfter(header('retry-after'), now)
  return new ApiError({
    status,
    code: isFailure ? code : 'reply_invalid',
    message:
      isFailure && typeof message === 'string'
        ? message
        : `The server answered ${status} with a response that cannot be read.`,
    ...(Array.isArray(details) ? { details } : {}),
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(retryAfter === null ? {} : { retryAfter }),
    isGenuine,
  })
}

/** `Retry-After` (RFC 9110) is a number of seconds or a date. */
function parseRetryAfter(text: string | null, now: () => number): number | null {
  if (!text) return null
  if (/^-/.test(text)) return null
  const isNumber = /^[\d.]+$/.test(text)
  const seconds = Math.ceil(isNumber ? Number(text) : (Date.parse(text) - now()) / 1000)
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null
}
