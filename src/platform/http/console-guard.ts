import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import type { IpOf } from './client-ip.ts'
import { deviceOf } from './request-headers.ts'
import { requestInfo } from './request-id.ts'
import { isWithoutHost, pathOf } from './request-url.ts'

/** Who sits at the console. `provenAt`: when they last showed a passkey or a code. */
type Operator = {
  id: string
  operatorId: string
  name: string
  role: 'reader' | 'operator' | 'owner'
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
/** Routes under this need no session: they begin one. */
const OPEN = `${CONSOLE_API}/door/`
/** Under this everybody changes what is their own, readers too. */
const OWN = `${CONSOLE_API}/me/`
/** Under this nothing is changed, though something is sent. */
const PREVIEWS = `${CONSOLE_API}/preview/`
const COOKIE = '__Host-homeport-console'
const PROOF_LIFE = 10 * 60 * 1000
const SAFE = new Set(['GET', 'HEAD'])

const operators = new WeakMap<Request, Operator>()
const visitors = new WeakMap<Request, Visitor>()
const proven = new WeakSet<Request>()

/** What a route needs beyond a session: a passkey or a code that was shown within ten minutes. No reader may use it. */
export function stepUp() {
  return provenAs('operator', ['step-up'])
}

/** What only owners may. */
export function ownerOnly() {
  return provenAs('owner', ['step-up', 'owner'])
}

/** Hooks of a route; each gets its own, for the framework changes what it is given. */
function provenAs(role: 'operator' | 'owner', tags: string[]) {
  return {
    transform: ({ request }: { request: Request }) => {
      requireRoleFor(request, role)
      requireProof(request)
    },
    detail: { tags },
  }
}

/**
 * Stands before every route that is added after it: where the request comes from, who sits there, and what they may. What changes something is for operators, the rest for readers as well.
 */
export function consoleGuard({ checkSession, baseUrl, ipOf, now }: ConsoleGuardDeps) {
  return (
    new Elysia({ name: 'console-guard' })
      // Before a body is read, and where there is none before its fields are looked at.
      .onParse({ as: 'scoped' }, ({ request, server }) => judge(request, server))
      .onTransform({ as: 'scoped' }, ({ request, server }) => judge(request, server))
  )

  async function judge(request: Request, server: unknown): Promise<void> {
    if (visitors.has(request)) return
    const isSafe = SAFE.has(request.method)
    const origin = originOf(request)
    if (!isSafe && !isOurs(request, origin)) throw fromElsewhere()
    const path = pathOf(request)
    if (!path.startsWith(OPEN)) {
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
      if (now().getTime() - operator.provenAt.getTime() < PROOF_LIFE) proven.add(request)
      if (!isSafe && !path.startsWith(PREVIEWS)) requireRoleFor(request, 'operator')
    }
    const ip = ipOf(request, server as Server<unknown> | null)
    visitors.set(request, { ip, device: deviceOf(request).name, origin })
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

/** What is somebody's own needs no role. */
function requireRoleFor(request: Request, role: 'operator' | 'owner') {
  const { role: own } = operatorOf(request)
  if (own === 'owner' || own === role || pathOf(request).startsWith(OWN)) return
  throw new AppError(
    'forbidden',
    role === 'owner' ? 'Only owners can do this.' : 'Readers cannot do this.',
  )
}

function requireProof(request: Request) {
  if (proven.has(request)) return
  throw new AppError('forbidden', 'Confirm it’s you with your passkey or a code.', {
    details: [{ path: 'operator', message: 'step_up_required' }],
  })
}

function fromElsewhere(): AppError {
  return new AppError('forbidden', 'This request did not come from the console.')
}
