import type { Checkout } from '../checkout.ts'
import type { Core } from '../core.ts'
import { PINNED_VERSION } from '../events.ts'
import type { StripeObject } from '../object-store.ts'
import { isKnownVersion, OLD_VERSION, oldObject } from '../shapes.ts'
import { invalid, StripeApiError } from './errors.ts'
import { createExpansion } from './expand.ts'
import { type Fault, matchesFault, respondWith } from './faults.ts'
import { listAt, type Params, parseForm } from './form.ts'
import { createIdempotency, type IdempotentResponse } from './idempotency.ts'
import type { ApiKey, Keys } from './keys.ts'
import { createRateLimit, type RateLimits } from './rate-limit.ts'
import { checkParams, type Route } from './route.ts'

type LoggedRequest = {
  request: string
  params: Params
  idempotencyKey: string | null
  key: string | null
}

/** Stripe's HTTP API, with faults that tests can inject. */
export function createApi(core: Core, keys: Keys, routes: Route[], checkout: Checkout) {
  const idempotency = createIdempotency(core.timeline)
  const rateLimit = createRateLimit()
  const { expand } = createExpansion(core, checkout)
  const api = {
    respond,
    /** Every request, such as `POST /v1/customers`, with its parsed parameters. */
    requests: [] as LoggedRequest[],
    /** Faults of the next requests, first to last; null for a request that succeeds. */
    faults: [] as (Fault | null)[],
    /** Every request fails. */
    isDown: false,
    /** How long a request waits before it takes effect. */
    delayMs: 0,
    /** If set, requests wait until it resolves. */
    held: null as Promise<void> | null,
    limits: null as RateLimits | null,
  }
  return api

  async function respond(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const name = `${request.method} ${pathname}`
    const encodedParams = request.method === 'POST' ? await request.text() : search.slice(1)
    const idempotencyKey = request.headers.get('idempotency-key')
    const key = request.headers.get('authorization')?.replace('Bearer ', '') ?? null
    api.requests.push({ request: name, params: parseForm(encodedParams), idempotencyKey, key })
    if (api.isDown) return new Response('Service Unavailable', { status: 503 })
    const fault = takeFault(name)
    const early = fault && !fault.afterEffect ? await respondWith(fault) : null
    if (early) return early
    const response = await respondSafely(request, pathname, encodedParams)
    const late = fault?.afterEffect ? await respondWith(fault) : null
    return late ?? response
  }

  function takeFault(name: string): Fault | null {
    const at = api.faults.findIndex((fault) => fault === null || matchesFault(fault, name))
    return at < 0 ? null : (api.faults.splice(at, 1)[0] ?? null)
  }

  async function respondSafely(request: Request, pathname: string, encodedParams: string) {
    const version = request.headers.get('stripe-version') ?? PINNED_VERSION
    const idempotencyKey = request.headers.get('idempotency-key')
    const headers: Record<string, string> = {
      'request-id': core.objects.createId('req', 14),
      'stripe-version': version,
      ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
    }
    try {
      const { status, body, isReplayed } = await answer(request, pathname, encodedParams, version)
      if (isReplayed) headers['idempotent-replayed'] = 'true'
      return Response.json(body, { status, headers })
    } catch (error) {
      if (!(error instanceof StripeApiError)) throw error
      const { status, body } = error
      return Response.json(body, { status, headers: { ...headers, ...error.headers } })
    }
  }

  async function answer(
    request: Request,
    pathname: string,
    encodedParams: string,
    version: string,
  ): Promise<IdempotentResponse> {
    const key = keys.identify(request.headers.get('authorization'))
    rateLimit.check(api.limits, `${request.method} ${pathname.split('/')[2]}`)
    if (!isKnownVersion(version)) throw invalid(`Invalid Stripe API version: ${version}`)
    const { route, id } = routeOf(request, pathname)
    keys.authorize(key, route.resource, route.access)
    const params = paramsOf(request, encodedParams)
    checkParams(route, params)
    const execute = () => run(route, id, pathname, params, key, version)
    const idempotencyKey = request.headers.get('idempotency-key')
    if (request.method !== 'POST' || idempotencyKey === null) {
      return { ...(await execute()), isReplayed: false }
    }
    if (idempotencyKey.length > 255) throw invalid('Idempotency keys have up to 255 characters.')
    const scope = `${key.isLive} ${idempotencyKey}`
    return idempotency.run(scope, `${pathname}?${encodedParams}`, execute)
  }

  async function run(
    route: Route,
    id: string,
    path: string,
    params: Params,
    key: ApiKey,
    version: string,
  ) {
    if (api.delayMs > 0) await Bun.sleep(api.delayMs)
    await api.held
    core.timeline.runDue()
    const object = route.handle({ id, params, isLive: key.isLive, path })
    const paths = listAt(params, 'expand').map(String)
    const expanded = expand(object, paths, (resource) => keys.authorize(key, resource, 'read'))
    return { status: 200, body: version === OLD_VERSION ? inOldShape(expanded) : expanded }
  }

  function routeOf({ method }: Request, pathname: string) {
    const parts = pathname.split('/')
    for (const route of routes) {
      const pattern = route.path.split('/')
      const isMatch =
        route.method === method &&
        pattern.length === parts.length &&
        pattern.every((part, at) => part === parts[at] || (part === ':id' && parts[at] !== ''))
      const id = parts[pattern.indexOf(':id')] ?? ''
      if (isMatch) return { route, id: decodeURIComponent(id) }
    }
    throw new StripeApiError({
      status: 404,
      message: `Unrecognized request URL (${method}: ${pathname}). Please see https://stripe.com/docs or we can help at https://support.stripe.com/.`,
    })
  }
}

function paramsOf(request: Request, encodedParams: string): Params {
  const type = request.headers.get('content-type') ?? ''
  if (
    request.method === 'POST' &&
    encodedParams !== '' &&
    !type.includes('x-www-form-urlencoded')
  ) {
    throw invalid(
      'Invalid request (check that your POST content type is application/x-www-form-urlencoded).',
    )
  }
  return parseForm(encodedParams)
}

function inOldShape(body: object): object {
  const list = body as { object: string; data: StripeObject[] }
  if (list.object === 'list') return { ...list, data: list.data.map(oldObject) }
  return oldObject(body as StripeObject)
}
