import type { Denial } from '../../lib/errors.ts'

/**
 * State of a request while it is served. `startedAt`, from `performance.now()`, leaves out the arrival of the body;
 * `failure`: the error's code.
 */
type RequestInfo = {
  id: string
  startedAt: number
  userId?: string
  session?: { userId: string; sessionId: string }
  /** The name of the API key of a request to the server API. */
  apiKey?: string
  failure?: string
  /** A refused request to a webhook that is no delivery. */
  isStray?: boolean
  denial?: Denial
}

const infoByRequest = new WeakMap<Request, RequestInfo>()
const PLAIN_ID = /^[\w.-]{1,64}$/

/** Creates the state of a request. Its id is its `X-Request-Id` if that is a plain word. */
export function recordRequest(request: Request): RequestInfo {
  const sentId = request.headers.get('x-request-id')
  const id = sentId !== null && PLAIN_ID.test(sentId) ? sentId : crypto.randomUUID()
  const info: RequestInfo = { id, startedAt: performance.now() }
  infoByRequest.set(request, info)
  return info
}

export function requestInfo(request: Request): RequestInfo {
  return infoByRequest.get(request) ?? recordRequest(request)
}
