import type { Server } from 'bun'

/** A larger body is an upload, whose route sets its own timeout. */
const SMALL_BODY_BYTES = 1024 * 1024

const unlimited = new WeakSet<Request>()

/** Removes the idle timeout of a request with a long reply. */
export function disableIdleTimeout(request: Request, server: Server<unknown> | null) {
  server?.timeout(request, 0)
  unlimited.add(request)
}

/** Keeps the connection of an answered request open for `seconds`, for the next one. */
export function keepConnection(
  request: Request,
  server: Server<unknown>,
  seconds: number,
  { status }: Response,
) {
  if (unlimited.has(request)) return
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const { headers } = request
    const isSmall = Number(headers.get('content-length') ?? 0) <= SMALL_BODY_BYTES
    // The rest of a refused body may still be arriving.
    if (!isSmall || headers.has('transfer-encoding') || status >= 400) return
  }
  server.timeout(request, seconds)
}
