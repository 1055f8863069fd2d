import type { Deadline } from './deadline.ts'
import type { OnText, RawReply, Transmit } from './fetch.ts'

/** A request before it is sealed, or sent unsealed. */
export type Request = {
  method: string
  /** Path and query, percent-encoded. */
  target: string
  headers: Record<string, string>
  token: string | null
  contentType: string | null
  body: Uint8Array<ArrayBuffer> | FormData | null
  /** Never sealed, if the response is an event stream. */
  onText?: OnText | undefined
  deadline: Deadline
}

/** An opened response. `isGenuine`: the server sealed it, or sealing is off. */
export type Reply = RawReply & { isGenuine: boolean }

export type Send = (request: Request) => Promise<Reply>

export function createPlainTransport(baseUrl: string, transmit: Transmit): Send {
  return async (request) => {
    const { method, target, contentType, body, token, onText, deadline } = request
    const headers = contentHeaders(request, 'test', contentType)
    if (token !== null) headers['authorization'] = `Bearer ${token}`
    const url = baseUrl + target
    return {
      ...(await transmit({ url, method, headers, body, onText }, deadline)),
      isGenuine: true,
    }
  }
}

/** The headers of a request for an `env`, with its content type if it has content. */
export function contentHeaders({ headers }: Request, env: string, contentType: string | null) {
  return {
    ...headers,
    env,
    ...(contentType === null ? {} : { 'content-type': contentType }),
  } as Record<string, string>
}
