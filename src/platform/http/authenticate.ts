import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import { isSealed } from './opened-request.ts'
import { requestInfo } from './request-id.ts'

/** Who asks: one signed-in person on one device. */
export type Session = { userId: string; sessionId: string }

/**
 * Checks an access token and that its session still stands. Throws `unauthenticated`, `token_expired`,
 * or `encryption_required` when the session was opened sealed and the request is not `sealed`.
 */
export type CheckSession = (accessToken: string, sealed: boolean) => Promise<Session>

/**
 * Reads the bearer token of the Authorization header, its scheme in any case. The plugin would take a
 * token from the query as well: it is given a parameter's name that nobody can guess.
 */
export function bearerToken() {
  return new Elysia({ name: 'bearer-token' })
    .derive({ as: 'global' }, ({ headers }) => {
      const { authorization } = headers
      if (authorization === undefined) return {}
      // The plugin would find a token where `tokenIn` finds none.
      const token = tokenIn(authorization)
      headers['authorization'] = token === null ? '' : `Bearer ${token}`
      return {}
    })
    .use(bearer({ extract: { header: 'Bearer', query: crypto.randomUUID(), body: '' } }))
}

/** The token of an Authorization header, or null where there is none. */
export function tokenIn(authorization: string | null): string | null {
  const [scheme, token, ...rest] = authorization?.split(' ') ?? []
  return scheme?.toLowerCase() === 'bearer' && token && rest.length === 0 ? token : null
}

/** Gives routes `signedIn: true`, which lets only signed-in people pass and adds `session`. */
export function authenticate(checkSession: CheckSession) {
  const sessions = new WeakMap<Request, Session>()
  return new Elysia({ name: 'authenticate', seed: checkSession }).use(bearerToken()).macro({
    signedIn: {
      detail: { security: [{ bearer: [] }] },
      // Before validation, so that a stranger learns nothing of a route's fields.
      transform: async ({ bearer: token, request }) => {
        if (!token) throw noToken(request)
        const session = await checkSession(token, isSealed(request))
        sessions.set(request, session)
        requestInfo(request).userId = session.userId
      },
      resolve: ({ request }) => {
        return { session: sessions.get(request) as Session }
      },
    },
  })
}

function noToken({ headers }: Request): AppError {
  return new AppError('unauthenticated', 'A bearer token is required: sign in first.', {
    denial: { reason: headers.has('authorization') ? 'malformed' : 'missing' },
  })
}
