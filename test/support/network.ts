import { type ApiError, type ClientOptions, createClient } from '../../src/client/client.ts'
import type { Fetch } from '../../src/client/fetch.ts'
import { type Clock, PASSWORD } from './app.ts'

const BASE = 'http://localhost'

/** An application that answers requests, and its clock. */
export type Served = {
  app: { handle: (request: Request) => Response | Promise<Response> }
  clock: Clock
}

/** How an intermediary changes a request or its response. */
export type Interceptor = {
  request?: (request: Request) => Request | Promise<Request>
  /** Throwing simulates a lost response. */
  reply?: (reply: Response, request: Request) => Response | Promise<Response>
}

/** The network between a client and a test application; `interceptor` may be changed at any time. */
export function networkTo(app: Pick<Served, 'app'>) {
  const network = {
    interceptor: {} as Interceptor,
    /** The path of each request. */
    seen: [] as string[],
    fetch: send as Fetch,
  }
  return network

  async function send(url: string, init?: RequestInit): Promise<Response> {
    const sent = onTheWire(url, init)
    const { pathname } = new URL(url)
    network.seen.push(pathname)
    const { interceptor } = network
    const request = (await interceptor.request?.(sent)) ?? sent
    const reply = await app.app.handle(request)
    return (await interceptor.reply?.(reply, request)) ?? reply
  }
}

/** A request as the server receives it, with a Content-Length. */
export function onTheWire(url: string, init: RequestInit = {}): Request {
  const request = new Request(url, init)
  const { body } = init
  const length = typeof body === 'string' || body instanceof Uint8Array ? body.length : null
  if (length !== null && !request.headers.has('content-length')) {
    request.headers.set('content-length', String(length))
  }
  return request
}

/** A client, sealed by default, and how often it was notified of a sign-out. */
export function clientOf(app: Served, overrides: Partial<ClientOptions> = {}) {
  const network = networkTo(app)
  const signedOut = { times: 0 }
  const onSignedOut = () => {
    signedOut.times += 1
  }
  const now = () => app.clock.now.getTime()
  const options = { baseUrl: BASE, env: 'production', fetch: network.fetch, now, onSignedOut }
  return { client: createClient({ ...options, ...overrides }), network, signedOut }
}

export async function signedIn(app: Served, overrides: Partial<ClientOptions> = {}) {
  const made = clientOf(app, overrides)
  await made.client.register({ email: `${crypto.randomUUID()}@example.com`, password: PASSWORD })
  return made
}

/** The error with which a call of the client fails; empty if it succeeds. */
export function failureOf(call: Promise<unknown>): Promise<ApiError> {
  return call.then(
    () => ({}) as ApiError,
    (error: ApiError) => error,
  )
}

/** The error code with which a call of the client fails; `ok` if it succeeds. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  return (await failureOf(call)).code ?? 'ok'
}

/** An unsealed response. */
export function plainReply(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status })
}
