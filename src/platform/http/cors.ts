import { type Context, Elysia } from 'elysia'
import type { Log } from '../../lib/log/log.ts'
import { createLruMap } from '../../lib/lru-map.ts'

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const REQUEST_HEADERS =
  'Accept-Language, App-Platform, App-Version, Authorization, Baggage, Cache-Control, Content-Type, Device, Device-Id, Env, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Payload, Sentry-Trace, Timezone, Traceparent, Tracestate, X-File-Name, X-Request-Id'
const REPLY_HEADERS = 'Content-Language, Date, ETag, Retry-After, X-Request-Id'
/** How long browsers may cache a preflight, in seconds; Chromium accepts no more. */
const MAX_AGE_SECONDS = '7200'
const MAX_LOGGED_ORIGINS = 100
const MAX_ORIGIN_LENGTH = 200
/** The origins that browsers and web views send, such as capacitor://localhost. Not `null`, the origin of every local file. */
const ORIGIN_FORMAT = /^[a-z][a-z0-9+.-]*:\/\/[\w.:[\]-]+$/

/** Allows web clients of `origins` (https://fetch.spec.whatwg.org, §3.2). No cookies are used. */
export function cors({ origins, log }: { origins: string[]; log: Log }) {
  const refused = createLruMap<string, true>(MAX_LOGGED_ORIGINS)
  return new Elysia({ name: 'cors' }).onRequest(function allow({ request, set }) {
    if (allowOrigin(request, set)) return new Response(null, { status: 204 })
    return undefined
  })

  function allowOrigin({ method, headers }: Request, set: Context['set']): boolean {
    if (origins.length === 0 && method !== 'OPTIONS') return false
    const origin = headers.get('origin')
    if (origins.length > 0) varyBy(set, 'Origin')
    if (origin === null) return false
    if (!origins.includes(origin)) {
      logRefusal(origin, method)
      return false
    }
    set.headers['access-control-allow-origin'] = origin
    set.headers['access-control-expose-headers'] = REPLY_HEADERS
    if (method !== 'OPTIONS' || !headers.has('access-control-request-method')) return false
    set.headers['access-control-allow-methods'] = METHODS
    set.headers['access-control-allow-headers'] = REQUEST_HEADERS
    set.headers['access-control-max-age'] = MAX_AGE_SECONDS
    return true
  }

  /** Logs the reason, because the browser only reports a network error. */
  function logRefusal(sent: string, method: string) {
    const origin = sent.slice(0, MAX_ORIGIN_LENGTH)
    if (method !== 'OPTIONS' || !ORIGIN_FORMAT.test(origin) || refused.get(origin)) return
    refused.set(origin, true)
    log.warn(
      { origin },
      'a web client was refused: add its origin to CORS_ORIGINS, then restart the server',
    )
  }
}

export function varyBy(set: Context['set'], header: string) {
  const { vary } = set.headers
  set.headers['vary'] = vary === undefined ? header : `${vary}, ${header}`
}
