import { Elysia, t } from 'elysia'
import { responses } from '../../http/envelope.ts'
import { accountRoutes } from './routes/account.ts'
import type { AuthRoutesDeps } from './routes/deps.ts'
import { pageRoutes } from './routes/pages.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { twoFactorRoutes } from './routes/two-factor.ts'

export function authRoutes(deps: AuthRoutesDeps) {
  return new Elysia({ name: 'auth' })
    .use(signInRoutes(deps))
    .use(accountRoutes(deps))
    .use(twoFactorRoutes(deps))
    .use(pageRoutes(deps))
    .get(
      '/.well-known/jwks.json',
      ({ set }) => {
        set.headers['cache-control'] = 'public, max-age=3600'
        return { keys: [deps.tokens.publicJwk] }
      },
      {
        response: responses(t.Object({ keys: t.Array(t.Any()) }), 400),
        detail: {
          tags: ['Signing in'],
          operationId: 'readKeys',
          summary: 'Public keys of access tokens',
        },
      },
    )
}
