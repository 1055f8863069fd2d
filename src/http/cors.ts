import { type Context, Elysia } from 'elysia'

const METHODS = 'GET, HEAD, POST, PATCH, DELETE'
const REQUEST_HEADERS =
  'Accept-Language, Authorization, Content-Type, Device, Env, Idempotency-Key, If-None-Match, Payload, Timezone, X-File-Name, X-Request-Id'
const REPLY_HEADERS = 'Content-Language, ETag, Retry-After, X-Request-Id'
/** Seconds for which a browser need not ask again whether it may ask; none takes more. */
const MAX_AGE = '7200'

/** Lets web clients of these origins call the API (https://fetch.spec.whatwg.org, §3.2). No cookies are used. */
export function cors({ origins }: { origins: string[] }) {
  const app = new Elysia({ name: 'cors' })
  if (origins.length === 0) return app
  return app.onRequest(({ request: { method, headers }, set }) => {
    varyBy(set, 'Origin')
    const origin = headers.get('origin')
    if (origin === null || !origins.includes(origin)) return
    set.headers['access-control-allow-origin'] = origin
    set.headers['access-control-expose-headers'] = REPLY_HEADERS
    if (method !== 'OPTIONS' || !headers.has('access-control-request-method')) return
    set.headers['access-control-allow-methods'] = METHODS
    set.headers['access-control-allow-headers'] = REQUEST_HEADERS
    set.headers['access-control-max-age'] = MAX_AGE
    return new Response(null, { status: 204 })
  })
}

/** Says that the reply depends on a header of the request as well. */
export function varyBy(set: Context['set'], header: string) {
  const { vary } = set.headers
  set.headers['vary'] = vary === undefined ? header : `${vary}, ${header}`
}
