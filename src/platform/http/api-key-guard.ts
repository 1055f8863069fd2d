import type { Server } from 'bun'
import { Elysia } from 'elysia'
import type { AuditEntry } from '../../lib/command.ts'
import { isApiKey } from '../../lib/crypto/api-key.ts'
import { AppError, type DenialReason } from '../../lib/errors.ts'
import type { Scope } from '../../lib/scopes.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import { lastsUntil, tooManyAttempts } from '../limits/limits.ts'
import { readToken } from './authenticate.ts'
import { beforeBody } from './body/before-body.ts'
import { isForm } from './body/body.ts'
import { closedObject, text } from './replies/envelope.ts'
import type { FindIp, RequestCheck } from './request/client-address.ts'
import { requestInfo } from './request/request-log.ts'

/** The prefix of the routes that the app's other servers call with an API key. */
export const SERVER_API = '/api/server'

/** The user in the path of a route. */
export const UserParams = closedObject({
  id: text('the `_id` of the user', '01a1fecb-4162-75f8-b13e-d84fd1f88be2', { maxLength: 100 }),
})

type ApiKey = {
  id: string
  name: string
  scopes: Scope[]
  networks: string[]
  requestsPerMinute: number | null
  expiresAt: Date | null
  revokedAt: Date | null
}

type ServerApiDeps = {
  /** Finds revoked and expired keys, too. */
  findKey: (secret: string) => Promise<ApiKey | undefined>
  networkCheck: (networks: string[]) => RequestCheck
  findIp: FindIp
  now: () => Date
}

/** The key and the IP address of a request's sender, for the audit log. */
type Caller = { key: string; readIp: () => string }

export type RecordByKey = (request: Request, entry: AuditEntry) => Promise<void>

type ClientRequest = {
  request: Request
  server: Server<unknown> | null
  body?: unknown
}

const callers = new WeakMap<Request, Caller>()

export type ScopeGuard = ReturnType<typeof requireKey>

/**
 * `scope` requires an API key that has it. `clientScope` also accepts the key as an OAuth client secret (RFC 6749,
 * §2.3.1): by Basic authentication or as `client_secret`.
 */
export function requireKey({ findKey, networkCheck, findIp, now }: ServerApiDeps) {
  const checks = new Map<string, RequestCheck>()
  const windows = new Map<string, { until: Date; count: number }>()
  return new Elysia({ name: 'api-key', seed: findKey }).macro({
    scope: (scope: Scope) => {
      const check = ({ request, server }: { request: Request; server: Server<unknown> | null }) =>
        authorize(request, server, scope)
      return {
        detail: { security: [{ apiKey: [] }], 'x-scope': scope },
        ...beforeBody(check),
        // Before validation, so that callers without a key learn nothing about a route's fields.
        transform: check,
      }
    },
    clientScope: (scope: Scope) => {
      const check = async ({ request, server, body }: ClientRequest) => {
        const header = request.headers.get('authorization')
        const form = body as { client_secret?: string } | undefined
        const secret = header === null ? form?.client_secret : readBasicSecret(header)
        await authorize(request, server, scope, secret ?? readToken(header))
      }
      const mayBeInForm = ({ request }: ClientRequest) =>
        isForm(request) && !request.headers.has('authorization')
      return {
        detail: { security: [{ apiKey: [] }], 'x-scope': scope },
        // The secret in a form is known only after the body has been read.
        ...beforeBody((context: ClientRequest) =>
          mayBeInForm(context) ? undefined : check(context),
        ),
        transform: check,
      }
    },
  })

  async function authorize(
    request: Request,
    server: Server<unknown> | null,
    scope: Scope,
    secret = readToken(request.headers.get('authorization')),
  ) {
    if (callers.has(request)) return
    const { headers } = request
    // A key in a web page would be public.
    if (headers.has('origin')) throw forbidden('API keys are for servers, not for browsers.')
    if (secret === null) throw denied(headers.has('authorization') ? 'malformed' : 'missing')
    const key = isApiKey(secret) ? await findKey(secret) : undefined
    if (!key) throw denied('unknown_token')
    if (key.revokedAt !== null) throw denied('revoked')
    if (key.expiresAt !== null && key.expiresAt <= now()) throw denied('expired')
    if (!isInNetwork(key, request, server))
      throw forbidden('This API key is not allowed from this IP address.')
    if (!key.scopes.includes(scope)) throw forbidden(`This API key lacks the scope ${scope}.`)
    countRequest(key)
    // Finding the IP address is costly, and only changes need it.
    callers.set(request, { key: key.name, readIp: () => findIp(request, server) })
    requestInfo(request).apiKey = key.name
  }

  function isInNetwork({ networks }: ApiKey, request: Request, server: Server<unknown> | null) {
    if (networks.length === 0) return true
    const name = networks.join()
    const check = checks.get(name) ?? networkCheck(networks)
    checks.set(name, check)
    return check(request, server)
  }

  /** Counts in the memory of this process: a window is short, and each instance has its own. */
  function countRequest({ id, requestsPerMinute }: ApiKey) {
    if (requestsPerMinute === null) return
    const at = now()
    const known = windows.get(id)
    const isCurrent = known !== undefined && lastsUntil(known.until, at, MINUTE_MS / 1000)
    const window = isCurrent ? known : { until: new Date(at.getTime() + MINUTE_MS), count: 0 }
    windows.set(id, window)
    if (window.count >= requestsPerMinute) throw tooManyAttempts(window.until, at)
    window.count++
  }
}

/** The password of Basic authentication, which OAuth clients encode like a form; null for another scheme. */
function readBasicSecret(authorization: string | null): string | null {
  const encoded = /^basic +([\w+/=-]+)$/i.exec(authorization ?? '')?.[1]
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? []
  return password === undefined ? null : new URLSearchParams(`p=${password}`).get('p')
}

export function findCaller(request: Request): Caller {
  return callers.get(request) as Caller
}

function denied(reason: DenialReason): AppError {
  const text = 'A valid API key is required: send Authorization: Bearer hp_….'
  return new AppError('unauthenticated', text, { denial: { reason } })
}

function forbidden(text: string): AppError {
  return new AppError('forbidden', text)
}
