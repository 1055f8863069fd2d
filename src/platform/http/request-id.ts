import type { Denial } from '../../lib/errors.ts'

/** What we keep of a request while it is served. `startedAt` in ms of `performance.now()`, `failure` the code of the error, `denial` why it got 401. */
type RequestInfo = {
  id: string
  startedAt: number
  userId?: string
  failure?: string
  denial?: Denial
}

const seen = new WeakMap<Request, RequestInfo>()
const PLAIN = /^[\w.-]{1,64}$/

/** Notes that a request has come and gives it its id: its own `X-Request-Id` when that is a plain word. */
export function recordRequest(request: Request): RequestInfo {
  const given = request.headers.get('x-request-id')
  const id = given !== null && PLAIN.test(given) ? given : crypto.randomUUID()
  const noted: RequestInfo = { id, startedAt: performance.now() }
  seen.set(request, noted)
  return noted
}

/** What was noted of a request when it came. */
export function requestInfo(request: Request): RequestInfo {
  return seen.get(request) ?? recordRequest(request)
}
