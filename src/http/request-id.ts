/** What we keep of a request while it is served. `startedAt` in ms of `performance.now()`. */
type Seen = { id: string; startedAt: number }

const seen = new WeakMap<Request, Seen>()
const PLAIN = /^[\w.-]{1,64}$/

/** Notes that a request has come and gives it its id: its own `X-Request-Id` when that is a plain word. */
export function noteRequest(request: Request): Seen {
  const given = request.headers.get('x-request-id')
  const id = given !== null && PLAIN.test(given) ? given : crypto.randomUUID()
  const noted = { id, startedAt: performance.now() }
  seen.set(request, noted)
  return noted
}

/** What was noted of a request when it came. */
export function seenRequest(request: Request): Seen {
  return seen.get(request) ?? noteRequest(request)
}
