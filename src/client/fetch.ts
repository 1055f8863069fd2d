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

const readText = (response: Response): Promise<string> => response.text()

/**
 * The default is the platform's `fetch`, called on `globalThis` as browsers require, and looked up at each call.
 * `read` returns the text of a response; null once a stream has ended.
 */
export function sendByFetch(
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
  { url, method, headers, body }: RawRequest,
  read: (response: Response) => Promise<string | null> = readText,
  extra: object = {},
): Sending {
  const controller = new AbortController()
  const reply = async (): Promise<RawReply> => {
    const response = await fetch(url, {
      method,
      headers,
      signal: controller.signal,
      ...(method === 'GET' ? noCacheOptions(headers) : {}),
      ...(body === null ? {} : { body }),
      ...extra,
    })
    const header = (name: string) => response.headers.get(name)
    const text = await read(response)
    return { status: response.status, text: text ?? '', header, isStream: text === null }
  }
  return { reply: reply(), cancel: () => controller.abort() }
}

/**
 * A cached read would hide a change that `onChange` has just reported. A browser would need CORS permission for the
 * header; other platforms may ignore the option.
 */
function noCacheOptions(headers: RawRequest['headers']): RequestInit {
  if ('document' in globalThis) return { cache: 'no-cache' }
  return { headers: { ...headers, 'cache-control': 'no-cache' } }
}
