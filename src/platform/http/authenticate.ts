import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import { beforeBody } from './body/before-body.ts'
import { isSealed } from './body/opened-request.ts'
import { requestInfo } from './request/request-log.ts'

/** The signed-in user and the session of a request. */
export type Session = { userId: string; sessionId: string }

/** Throws `unauthenticated`, `token_expired`, or `encryption_required` if only the start of the session was `sealed`. */
export type CheckSession = (accessToken: string, sealed: boolean) => Promise<Session>

/**
 * Reads the bearer token of the Authorization header only: the plugin's parameter gets a random name. Use it in a
 * `guard`: otherwise Elysia would copy the headers of requests to all other routes, too.
 */
export function bearerToken() {
  return new Elysia({ name: 'bearer-token' })
    .onTransform({ as: 'global' }, function keepToken({ headers }) {
      // The plugin accepts headers that `readToken` refuses.
      const token = readToken(headers['authorization'] ?? null)
      headers['authorization'] = token === null ? '' : `Bearer ${token}`
    })
    .use(bearer({ extract: { header: 'Bearer', query: crypto.randomUUID(), body: '' } }))
}

export function readToken(authorization: string | null): string | null {
  return /^bearer +([^ ]+)$/i.exec(authorization ?? '')?.[1] ?? null
}

/** Adds the route option `signedIn: true`, which requires a signed-in user and provides `session`. */
export function authenticate(checkSession: CheckSession) {
  return new Elysia({ name: 'authenticate', seed: checkSession }).macro({
    signedIn: {
      detail: { security: [{ bearer: [] }] },
      ...beforeBody(check),
      // Before validation, so that anonymous clients learn nothing about a route's fields.
      transform: check,
      resolve: function findSession({ request }) {
        const { session } = requestInfo(request)
        return { session: session as Session }
      },
    },
  })

  async function check({ request }: { request: Request }) {
    const info = requestInfo(request)
    if (info.session) return
    const token = readToken(request.headers.get('authorization'))
    if (token === null) throw noToken(request)
    const session = await checkSession(token, isSealed(request))
    Object.assign(info, { session, userId: session.userId })
  }
}

function noToken({ headers }: Request): AppError {
  return new AppError('unauthenticated', 'A bearer token is required: sign in first.', {
    denial: { reason: headers.has('authorization') ? 'malformed' : 'missing' },
  })
}
