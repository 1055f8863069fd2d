import type { Server } from 'bun'
import { type AnyElysia, Elysia } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import type { IpOf } from './client-ip.ts'
import { deviceOf } from './request-headers.ts'
import { requestInfo } from './request-id.ts'
import { isWithoutHost } from './request-url.ts'

const ROLES = ['reader', 'operator', 'owner'] as const
type Role = (typeof ROLES)[number]
type Access = Role | 'self' | 'anyone'

/** Who sits at the console. `provenAt`: when they last showed a passkey or a code. */
type Operator = {
  id: string
  operatorId: string
  name: string
  role: Role
  provenAt: Date
}

/** A browser at the console: its address, what it is, and where its page came from. */
export type Visitor = { ip: string; device: string; origin: string }

/** Writes to the audit log what an operator has done. */
export type RecordAct = (
  request: Request,
  entry: {
    action: string
    target?: string
    before?: Record<string, unknown>
    after?: Record<string, unknown>
    /** What changed is what apps get: nothing in it is masked. */
    isPublic?: boolean
  },
) => Promise<void>

type ConsoleGuardDeps = {
  /** Who the token of a cookie belongs to. */
  checkSession: (token: string) => Promise<Operator | null>
  /** Where people open the console; null when it is what they ask for. */
  baseUrl: string | null
  ipOf: IpOf
  now: () => Date
}

/** Where everything of the console is, but for its page. */
export const CONSOLE_API = '/console/api'
const COOKIE = '__Host-homeport-console'
const PROOF_LIFE = 10 * 60 * 1000
const SAFE = new Set(['GET', 'HEAD'])

const operators = new WeakMap<Request, Operator>()
const visitors = new WeakMap<Request, Visitor>()

/**
 * Who may call a console route: `anyone` without a session, each signed-in operator for what is their own (`self`), or
 * those of a role and above. A `stepUp` route also demands a passkey or a code shown within ten minutes.
 */
export function allow(access: Access, proof?: 'stepUp') {
  return { detail: { tags: proof ? [access, proof] : [access] } }
}

/**
 * Guards every route that is added after `guard`: where the request comes from, who sends it, and what they may do.
 * `protect` reads what the routes of `admin` declare with `allow`; a route that declares nothing is refused.
 */
export function consoleGuard({ checkSession, baseUrl, ipOf, now }: ConsoleGuardDeps) {
  const declared = new Map<string, string[]>()
  const guard = new Elysia({ name: 'console-guard' })
    // Before a body is read, and where there is none before its fields are looked at.
    .onParse({ as: 'scoped' }, ({ request, server, route }) => judge(request, server, route))
    .onTransform({ as: 'scoped' }, ({ request, server, route }) => judge(request, server, route))
  return { guard, protect }

  function protect<App extends AnyElysia>(admin: App): App {
    for (const { method, path, hooks } of admin.routes) {
      declared.set(`${method} ${path}`, hooks.detail?.tags ?? [])
    }
    return admin
  }

  async function judge(request: Request, server: unknown, route: string): Promise<void> {
    if (visitors.has(request)) return
    const origin = originOf(request)
    if (!SAFE.has(request.method) && !isOurs(request, origin)) throw fromElsewhere()
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const [access, proof] = declared.get(`${method} ${route}`) ?? []
    if (access !== 'anyone') {
      const operator = await requireSession(request)
      requireRole(operator, access)
      if (proof === 'stepUp') requireProof(operator)
    }
    const ip = ipOf(request, server as Server<unknown> | null)
    visitors.set(request, { ip, device: deviceOf(request).name, origin })
  }

  async function requireSession(request: Request): Promise<Operator> {
    const token = sessionTokenOf(request)
    const operator = token === null ? null : await checkSession(token)
    if (!operator) {
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
    if (now().getTime() - provenAt.getTime() < PROOF_LIFE) return
    throw new AppError('forbidden', 'Confirm it’s you with your passkey or a code.', {
      details: [{ path: 'operator', message: 'step_up_required' }],
    })
  }

  /** Where the page of a request came from: the browser says it, or it is where the request goes. */
  function originOf(request: Request): string {
    return request.headers.get('origin') ?? baseUrl ?? ownOriginOf(request)
  }

  function isOurs(request: Request, origin: string): boolean {
    const { headers } = request
    const site = headers.get('sec-fetch-site')
    if (site !== null && site !== 'same-origin') return false
    if (!headers.has('origin')) return site !== null
    const host = URL.parse(origin)?.host
    if (!host) return false
    // Another port of our own host is somebody else's page.
    const isNamed = baseUrl !== null && new URL(baseUrl).hostname === new URL(origin).hostname
    const own = headers.get('host') ?? URL.parse(ownOriginOf(request))?.host
    return isNamed ? origin === baseUrl : host === own
  }
}

/** Who asks. */
export function operatorOf(request: Request): Operator {
  return operators.get(request) as Operator
}

/** From where they ask. */
export function visitorOf(request: Request): Visitor {
  return visitors.get(request) as Visitor
}

/** The token of the session in the cookie, or null. */
export function sessionTokenOf(request: Request): string | null {
  const cookies = new Bun.CookieMap(request.headers.get('cookie') ?? '')
  return cookies.get(COOKIE)
}

/** The cookie that keeps a session; null ends it. The browser forgets it with the session's longest life. */
export function sessionCookie(token: string | null): string {
  const life = token === null ? 0 : 7 * 24 * 60 * 60
  return `${COOKIE}=${token ?? ''}; Path=/; Max-Age=${life}; Secure; HttpOnly; SameSite=Strict`
}

function ownOriginOf(request: Request): string {
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

function fromElsewhere(): AppError {
  return new AppError('forbidden', 'This request did not come from the console.')
}
