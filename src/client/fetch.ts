import type { Deadline } from './deadline.ts'

/** A request ready to send. `body` is null if there is none. */
export type RawRequest = {
  url: string
  method: string
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | FormData | string | null
  onText?: OnText | undefined
}

/** Called with each piece of an event stream as it arrives. */
export type OnText = (text: string) => void

/** A received response. `isStream`: it was an event stream, which has ended. */
export type RawReply = {
  status: number
  text: string
  header: (name: string) => string | null
  isStream?: boolean
}

export type Transmit = (request: RawRequest, deadline: Deadline) => Promise<RawReply>

/** The signature of `fetch` on every platform. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

export type Sending = { reply: Promise<RawReply>; cancel: () => void }

/** By default with the platform's `fetch`, called on `globalThis`, which browsers require, and looked up at each call. */
export function startFetch(
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
  { url, method, headers, body }: RawRequest,
  signal: AbortSignal,
  extra: object = {},
): Promise<Response> {
  return fetch(url, {
    method,
    headers,
    signal,
    ...(method === 'GET' ? noCacheOptions(headers) : {}),
    ...(body === null ? {} : { body }),
    ...extra,
  })
}

/**
 * A cached read would hide a change that `onChange` has just reported. Only browsers need this option everywhere, and
 * permission for the header.
 */
function noCacheOptions(headers: RawRequest['headers']): RequestInit {
  if ('document' in globalThis) return { cache: 'no-cache' }
  return { headers: { ...headers, 'cache-control': 'no-cache' } }
}
