import type { Server } from 'bun'
import { type AnyElysia, Elysia } from 'elysia'
import type { AuditEntry } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import { ROLES, type Role } from '../../lib/roles.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import { SKEW_WARNING_MS } from '../jobs/jobs.ts'
import { readSessionToken } from './console-cookie.ts'
import { type FindIp, isLocal } from './request/client-address.ts'
import { readDevice } from './request/request-headers.ts'
import { requestInfo } from './request/request-log.ts'
import { isWithoutHost } from './request/request-url.ts'

type Access = Role | 'self' | 'anyone'

/** The signed-in operator. `provenAt` is when they last used a passkey or a code. `isLocal`: valid only on this machine. */
type Operator = {
  id: string
  operatorId: string
  name: string
  role: Role
  provenAt: Date
  isLocal: boolean
}

/** The browser that uses the console: its IP address, whether it runs on this machine, its name, its page's origin. */
type Visitor = { ip: string; isLocal: boolean; device: string; origin: string }

export type RecordAction = (request: Request, entry: AuditEntry) => Promise<void>

type ConsoleGuardDeps = {
  /** Null when the token is invalid. */
  checkSession: (token: string) => Promise<Operator | null>
  /** The origin of the console; null to use the request's own. */
  baseUrl: string | null
  findIp: FindIp
  now: () => Date
}

/** The prefix of all console routes except the page. */
export const CONSOLE_API = '/console/api'
const PROOF_LIFETIME_MS = 10 * MINUTE_MS
const SAFE_METHODS = new Set(['GET', 'HEAD'])

const operators = new WeakMap<Request, Operator>()
const visitors = new WeakMap<Request, Visitor>()

/**
 * Who may call a route: `anyone`, even without a session; any operator, for their own data (`self`); or operators of a
 * role or above. `stepUp` also requires a passkey or code of the last ten minutes.
 */
export function allow(access: Access, proof?: 'stepUp') {
  return { detail: { tags: proof ? [access, proof] : [access] } }
}

/** Checks the origin, session and role for every route added after `guard`; refuses routes that lack `allow`. */
export function consoleGuard({ checkSession, baseUrl, findIp, now }: ConsoleGuardDeps) {
  const declared = new Map<string, string[]>()
  const bodies = new Set<string>()
  const guard = new Elysia({ name: 'console-guard' })
    // Runs before the body is read, or in transform for requests without a body.
    .onParse({ as: 'scoped' }, async ({ request, server, route }) => {
      await authorize(request, server, route)
      // Without a result, Elysia would parse a body that the route does not expect, whatever its size.
      return bodies.has(`${request.method} ${route}`) ? undefined : null
    })
    .onTransform({ as: 'scoped' }, ({ request, server, route }) =>
      authorize(request, server, route),
    )
  return { guard, protect }

  function protect<App extends AnyElysia>(admin: App): App {
    for (const { method, path, hooks } of admin.routes) {
      declared.set(`${method} ${path}`, hooks.detail?.tags ?? [])
      if (hooks.body) bodies.add(`${method} ${path}`)
    }
    return admin
  }

  async function authorize(request: Request, server: unknown, route: string): Promise<void> {
    if (visitors.has(request)) return
    const origin = readOrigin(request)
    const isSafe = SAFE_METHODS.has(request.method)
    if (isSafe ? isFromOtherSite(request) : !isFromConsole(request, origin))
      throw crossOriginRequest()
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const [access, proof] = declared.get(`${method} ${route}`) ?? []
    if (access !== 'anyone') {
      const operator = await requireSession(request, server as Server<unknown> | null)
      requireRole(operator, access)
      if (proof === 'stepUp') requireProof(operator)
    }
    const bunServer = server as Server<unknown> | null
    visitors.set(request, {
      ip: findIp(request, bunServer),
      isLocal: isLocal(request, bunServer),
      device: readDevice(request).name,
      origin,
    })
  }

  async function requireSession(
    request: Request,
    server: Server<unknown> | null,
  ): Promise<Operator> {
    const token = readSessionToken(request)
    const operator = token === null ? null : await checkSession(token)
    if (!operator || (operator.isLocal && !isLocal(request, server))) {
      const reason = token === null ? 'missing' : 'session_ended'
      throw new AppError('unauthenticated', 'Your session ended. Sign in to continue.', {
        denial: { reason },
      })
    }
    operators.set(request, operator)
    requestInfo(request).userId = operator.operatorId
    return operator
  }

  function requireProof({ provenAt }: Operator) {
    const age = now().getTime() - provenAt.getTime()
    // Another instance's clock may be a little ahead.
    if (age >= -SKEW_WARNING_MS && age < PROOF_LIFETIME_MS) return
    throw new AppError('forbidden', 'Confirm it’s you with your passkey or a code.', {
      details: [{ path: 'operator', message: 'step_up_required' }],
    })
  }

  /** The origin of the page that sent a request: from its Origin header, or else the console's own. */
  function readOrigin(request: Request): string {
    return request.headers.get('origin') ?? baseUrl ?? readOwnOrigin(request)
  }

  /** Whether another site's page caused this read. It cannot see the response, but an export would be audited. */
  function isFromOtherSite({ headers }: Request): boolean {
    const site = headers.get('sec-fetch-site')
    return site !== null && site !== 'same-origin' && site !== 'none'
  }

  function isFromConsole(request: Request, origin: string): boolean {
    const { headers } = request
    const site = headers.get('sec-fetch-site')
    if (site !== null && site !== 'same-origin') return false
    if (!headers.has('origin')) return site !== null
    const host = URL.parse(origin)?.host
    if (!host) return false
    // A page on another port of our own host is not the console.
    const isConfiguredHost =
      baseUrl !== null && new URL(baseUrl).hostname === new URL(origin).hostname
    const own = headers.get('host') ?? URL.parse(readOwnOrigin(request))?.host
    return isConfiguredHost ? origin === baseUrl : host === own
  }
}

export function findOperator(request: Request): Operator {
  return operators.get(request) as Operator
}

export function findVisitor(request: Request): Visitor {
  return visitors.get(request) as Visitor
}

function readOwnOrigin(request: Request): string {
  return isWithoutHost(request) ? '' : new URL(request.url).origin
}

function requireRole({ role }: Operator, access: string | undefined) {
  if (access === 'self') return
  const rank = ROLES.indexOf(access as Role)
  if (rank !== -1 && ROLES.indexOf(role) >= rank) return
  throw new AppError(
    'forbidden',
    role === 'reader' ? 'Readers cannot do this.' : 'Only owners can do this.',
  )
}

function crossOriginRequest(): AppError {
  return new AppError('forbidden', 'This request did not come from the console.')
}
