import type { Server } from 'bun'
import { createSendingIdleOf } from '../../lib/net/sockets.ts'
import { hasUnreadBody } from './body.ts'

const unlimited = new WeakSet<Request>()
const files = new WeakSet<Request>()

/** Removes the idle timeout of a request with a long reply. */
export function disableIdleTimeout(request: Request, server: Server<unknown> | null) {
  server?.timeout(request, 0)
  unlimited.add(request)
}

/** The runtime's maximum. */
const MAX_SECONDS = 255
/** The runtime checks timeouts every four seconds. */
const RENEW_MS = 4_000
/** A reader of a file may stand still for as long, and then for as long as an idle connection. */
const MAX_STILL_MS = 60_000

/** A reply that is a file: the runtime would give its reader the shortest timeout. */
export function allowPausesOfReader(request: Request) {
  files.add(request)
}

/** Removes the idle timeout while a body arrives: readers of bodies have their own. */
export function awaitBody(request: Request, server: Server<unknown> | null) {
  if (request.method !== 'GET' && request.method !== 'HEAD') server?.timeout(request, 0)
}

/** Keeps the connection of an answered request open for `seconds`, for the next one. */
export function keepConnection(request: Request, server: Server<unknown>, seconds: number) {
  if (unlimited.has(request)) return
  server.timeout(request, hasUnreadBody(request) ? MAX_SECONDS : seconds)
  if (!files.has(request)) return
  const startedAt = performance.now()
  const stillMs = createSendingIdleOf(server.port ?? 0, server.requestIP(request))
  // Each write sets the timeout again, so it is renewed while the file is sent.
  const renewing = setInterval(() => {
    if ((stillMs() ?? performance.now() - startedAt) > MAX_STILL_MS) clearInterval(renewing)
    else server.timeout(request, seconds)
  }, RENEW_MS).unref()
}
