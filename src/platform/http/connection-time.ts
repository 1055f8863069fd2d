import type { Server } from 'bun'
import { hasUnreadBody } from './body.ts'

const unlimited = new WeakSet<Request>()

/** Removes the idle timeout of a request with a long reply. */
export function disableIdleTimeout(request: Request, server: Server<unknown> | null) {
  server?.timeout(request, 0)
  unlimited.add(request)
}

/** Keeps the connection of an answered request open for `seconds`, for the next one. */
export function keepConnection(request: Request, server: Server<unknown>, seconds: number) {
  if (!unlimited.has(request) && !hasUnreadBody(request)) server.timeout(request, seconds)
}
