import { Elysia } from 'elysia'
import type { Denial, DenialReason } from '../../../lib/errors.ts'
import { createLineWriter, type Log } from '../../../lib/log/log.ts'
import type { RequestLabels } from '../../metrics/registry.ts'

/** `isStray`: a request to a webhook that is not a delivery. */
export type Requester = { id: string; userId: string | null; isStray: boolean }

type RequestMetrics = {
  observeRequest: (labels: RequestLabels, seconds: number, requester: Requester) => void
  countDenial: (reason: DenialReason) => void
}

/** `isTls`: whether this server terminates TLS and so sends HSTS; otherwise its proxy does both. */
type ObserveDeps = {
  log: Log
  metrics: RequestMetrics
  isTls: boolean
}

const HSTS = 'max-age=31536000'

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Sets the id and the security headers of every response, logs one line per request, and measures it. */
export function observe({ log, metrics, isTls }: ObserveDeps) {
  const logRequest = createLineWriter(log)
  return new Elysia({ name: 'observe' })
    .onRequest(function begin({ request, set }) {
      set.headers['x-request-id'] = recordRequest(request).id
      set.headers['x-content-type-options'] = 'nosniff'
      set.headers['cache-control'] = 'no-store'
      set.headers['content-security-policy'] = "default-src 'none'; frame-ancestors 'none'"
      if (isTls) set.headers['strict-transport-security'] = HSTS
    })
    .onAfterResponse({ as: 'global' }, ({ request, route, set, responseValue }) => {
      const status =
        responseValue instanceof Response ? responseValue.status : Number(set.status ?? 200)
      const {
        id,
        startedAt,
        userId,
        apiKey,
        failure,
        denial,
        isStray = false,
      } = requestInfo(request)
      const ms = performance.now() - startedAt
      const { method } = request
      const knownUser = denial?.userId ?? userId
      // Never the URL, which may contain keys of files and other secrets.
      const pattern = route ?? 'none'
      logRequest(status >= 500 ? 'warn' : 'info', {
        requestId: id,
        userId: knownUser,
        sessionId: denial?.sessionId,
        apiKey,
        method,
        route: pattern,
        status,
        code: failure,
        reason: denial?.reason,
        ms: Math.round(ms * 100) / 100,
      })
      const code = failure ?? readCode(responseValue)
      const known = METHODS.has(method) ? method : 'other'
      const labels = { method: known, route: pattern, status, code }
      metrics.observeRequest(labels, ms / 1000, { id, userId: knownUser ?? null, isStray })
      if (denial) metrics.countDenial(denial.reason)
    })
}

/** The code of a response in the envelope; empty for others. */
function readCode(reply: unknown): string {
  const { code } = (reply ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** `startedAt` (`performance.now()`) leaves out the arrival of the body. `failure`: the error's code. */
type RequestInfo = {
  id: string
  startedAt: number
  userId?: string
  session?: { userId: string; sessionId: string }
  apiKey?: string
  failure?: string
  isStray?: boolean
  denial?: Denial
}

const infoByRequest = new WeakMap<Request, RequestInfo>()
const PLAIN_ID = /^[\w.-]{1,64}$/

/** The id is the `X-Request-Id` header if that is a plain word. */
function recordRequest(request: Request): RequestInfo {
  const sentId = request.headers.get('x-request-id')
  const id = sentId !== null && PLAIN_ID.test(sentId) ? sentId : crypto.randomUUID()
  const info: RequestInfo = { id, startedAt: performance.now() }
  infoByRequest.set(request, info)
  return info
}

export function requestInfo(request: Request): RequestInfo {
  return infoByRequest.get(request) ?? recordRequest(request)
}
