import type { Denial } from '../../lib/errors.ts'

/** State of a request while it is served. `startedAt` is from `performance.now()`, `failure` the error's code. */
type RequestInfo = {
  id: string
  startedAt: number
  userId?: string
  session?: { userId: string; sessionId: string }
  failure?: string
  denial?: Denial
}

const seen = new WeakMap<Request, RequestInfo>()
const PLAIN = /^[\w.-]{1,64}$/

/** Creates the state of a request. Its id is its `X-Request-Id` if that is a plain word. */
export function recordRequest(request: Request): RequestInfo {
  const given = request.headers.get('x-request-id')
  const id = given !== null && PLAIN.test(given) ? given : crypto.randomUUID()
  const info: RequestInfo = { id, startedAt: performance.now() }
  seen.set(request, info)
  return info
}

export function requestInfo(request: Request): RequestInfo {
  return seen.get(request) ?? recordRequest(request)
}
