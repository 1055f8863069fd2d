import { ApiError } from './api-error.ts'
import { utf8 } from './bytes.ts'
import type { Reply, Request, Send } from './transport.ts'

/** What a call may bring: a query, and a body as JSON or as bytes. */
export type Call = {
  query?: Record<string, string | boolean | undefined>
  json?: unknown
  bytes?: { contentType: string; body: Uint8Array<ArrayBuffer> }
  headers?: Record<string, string>
  onProgress?: Request['onProgress']
}

export type Envelope = { code: string; response?: unknown; message?: string }

/** Turns calls into requests, and replies into their envelope or an `ApiError`. */
export function createCaller(send: Send, commonHeaders: () => Record<string, string>) {
  return async function call(
    method: string,
    path: string,
    token: string | null,
    { query, json, bytes, headers, onProgress }: Call,
  ): Promise<Envelope> {
    const content = bytes ?? (json === undefined ? null : asJson(json))
    const reply = await send({
      method: method.toUpperCase(),
      target: path + queryString(query),
      headers: { ...commonHeaders(), ...headers },
      token,
      contentType: content?.contentType ?? null,
      body: content?.body ?? null,
      ...(onProgress ? { onProgress } : {}),
    })
    const envelope = envelopeOf(reply)
    if (reply.status < 400 && envelope !== null) return envelope
    throw failureOf(reply, envelope)
  }
}

function asJson(value: unknown) {
  return {
    contentType: 'application/json',
    body: utf8(JSON.stringify(value)),
  }
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

function envelopeOf({ text }: Reply): Envelope | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function failureOf({ status, header, isGenuine }: Reply, envelope: Envelope | null): ApiError {
  const { code, message, details, requestId } = (envelope ?? {}) as Record<string, unknown>
  const retryAfter = Number(header('retry-after') ?? Number.NaN)
  return new ApiError({
    status,
    code: typeof code === 'string' ? code : 'reply_invalid',
    message:
      typeof message === 'string'
        ? message
        : `The server answered ${status} and nothing that can be read.`,
    ...(Array.isArray(details) ? { details } : {}),
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(Number.isFinite(retryAfter) ? { retryAfter } : {}),
    isGenuine,
  })
}
