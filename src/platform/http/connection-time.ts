import type { Server } from 'bun'

/** What is larger is an upload, whose route says how long it may take. */
const SMALL_BODY = 1024 * 1024

const unlimited = new WeakSet<Request>()

/** Lets a reply be silent for as long as it takes. */
export function waitWithoutLimit(request: Request, server: Server<unknown> | null) {
  server?.timeout(request, 0)
  unlimited.add(request)
}

/** Keeps the connection of an answered request for `seconds`, for the next one: until then less are enough. */
export function keepConnection(
  request: Request,
  server: Server<unknown>,
  seconds: number,
  { status }: Response,
) {
  if (unlimited.has(request)) return
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const { headers } = request
    const isSmall = Number(headers.get('content-length') ?? 0) <= SMALL_BODY
    // The rest of a refused body may still be on its way.
    if (!isSmall || headers.has('transfer-encoding') || status >= 400) return
  }
  server.timeout(request, seconds)
}
