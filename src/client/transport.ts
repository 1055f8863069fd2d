import type { Patience } from './patience.ts'
import type { Incoming, Transmit } from './transmit.ts'

/** A request before it is decided whether it goes out plain or sealed. */
export type Request = {
  method: string
  /** Path and query, percent-encoded as they go out. */
  target: string
  headers: Record<string, string>
  token: string | null
  contentType: string | null
  body: Uint8Array<ArrayBuffer> | FormData | null
  patience: Patience
}

/** A reply, opened. `isGenuine`: it was sealed by the server, or sealing is off. */
export type Reply = Incoming & { isGenuine: boolean }

export type Send = (request: Request) => Promise<Reply>

/** Sends requests as they are. */
export function createPlainTransport(baseUrl: string, transmit: Transmit): Send {
  return async (request) => {
    const { method, target, contentType, body, token, patience } = request
    const headers = headersOf(request, 'test', contentType)
    if (token !== null) headers['authorization'] = `Bearer ${token}`
    const url = baseUrl + target
    return { ...(await transmit({ url, method, headers, body }, patience)), isGenuine: true }
  }
}

/** The headers of a request in an `env`, with the type of its content where it has one. */
export function headersOf({ headers }: Request, env: string, contentType: string | null) {
  return {
    ...headers,
    env,
    ...(contentType === null ? {} : { 'content-type': contentType }),
  } as Record<string, string>
}
