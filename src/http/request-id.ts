const ids = new WeakMap<Request, string>()
const PLAIN = /^[\w.-]{1,64}$/

/** The id of a request: the caller's own `X-Request-Id` when that is a plain word, else a new one. */
export function requestIdOf(request: Request): string {
  let id = ids.get(request)
  if (id === undefined) {
    const given = request.headers.get('x-request-id')
    id = given !== null && PLAIN.test(given) ? given : crypto.randomUUID()
    ids.set(request, id)
  }
  return id
}
