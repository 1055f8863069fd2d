import { AppError } from '../../../lib/errors.ts'
import type { Sessions } from './sessions.ts'
import type { Tokens } from './tokens.ts'

type IntrospectionDeps = {
  checkSession: Sessions['check']
  describeToken: Tokens['toPublicClaims']
}

export type Introspect = ReturnType<typeof createIntrospection>

/** RFC 7662: invalid and expired tokens, and those of ended sessions, are only reported as inactive. */
export function createIntrospection({ checkSession, describeToken }: IntrospectionDeps) {
  return async (token: string) => {
    try {
      // The other server received the token; whether its request was sealed does not matter here.
      const { userId, sessionId } = await checkSession(token, true)
      return {
        active: true,
        sub: userId,
        sid: sessionId,
        token_type: 'Bearer',
        ...describeToken(token),
      }
    } catch (error) {
      const isInvalid =
        error instanceof AppError && ['unauthenticated', 'token_expired'].includes(error.code)
      if (!isInvalid) throw error
      return { active: false }
    }
  }
}
