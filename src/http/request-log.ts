import { Elysia } from 'elysia'
import { type Log, plainLines } from '../lib/log.ts'
import { recordRequest, requestInfo } from './request-id.ts'
import { pathOf } from './request-url.ts'

/** Gives every reply its id and security headers, and logs one line a request. */
export function observe({ log }: { log: Log }) {
  const logRequest = plainLines(log)
  return new Elysia({ name: 'observe' })
    .onRequest(({ request, set }) => {
      set.headers['x-request-id'] = recordRequest(request).id
      set.headers['x-content-type-options'] = 'nosniff'
      set.headers['cache-control'] = 'no-store'
      set.headers['content-security-policy'] = "default-src 'none'; frame-ancestors 'none'"
    })
    .onAfterResponse({ as: 'global' }, ({ request, set, responseValue }) => {
      const status =
        responseValue instanceof Response ? responseValue.status : Number(set.status ?? 200)
      const { id, startedAt, userId } = requestInfo(request)
      logRequest(status >= 500 ? 'warn' : 'info', {
        requestId: id,
        userId,
        method: request.method,
        path: pathOf(request),
        status,
        ms: Math.round((performance.now() - startedAt) * 100) / 100,
      })
    })
}
