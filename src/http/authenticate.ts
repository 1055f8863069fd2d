import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { AppError } from '../lib/errors.ts'

/** Who asks: one signed-in person on one device. */
export type Session = { userId: string; sessionId: string }

/** Checks an access token and that its session still stands. Throws `unauthenticated` or `token_expired`. */
export type CheckSession = (accessToken: string) => Promise<Session>

/**
 * Reads the bearer token of the Authorization header, its scheme in any case. The plugin would take a
 * token from the query as well: it is given a parameter's name that nobody can guess.
 */
export function bearerToken() {
  return new Elysia({ name: 'bearer-token' })
    .onRequest(({ request }) => {
      const [scheme, token, ...rest] = request.headers.get('authorization')?.split(' ') ?? []
      if (scheme === undefined || scheme === 'Bearer') return
      const isBearer = scheme.toLowerCase() === 'bearer' && token && rest.length === 0
      request.headers.set('authorization', isBearer ? `Bearer ${token}` : '')
    })
    .use(bearer({ extract: { header: 'Bearer', query: crypto.randomUUID(), body: '' } }))
}

/** Gives routes `signedIn: true`, which lets only signed-in people pass and adds `session`. */
export function authenticate(checkSession: CheckSession) {
  const sessions = new WeakMap<Request, Session>()
  return new Elysia({ name: 'authenticate', seed: checkSession }).use(bearerToken()).macro({
    signedIn: {
      detail: { security: [{ bearer: [] }] },
      // Before validation, so that a stranger learns nothing of a route's fields.
      transform: async ({ bearer: token, request }) => {
        if (!token)
          throw new AppError('unauthenticated', 'Sign in first: a bearer token is needed.')
        sessions.set(request, await checkSession(token))
      },
      resolve: ({ request }) => {
        return { session: sessions.get(request) as Session }
      },
    },
  })
}
