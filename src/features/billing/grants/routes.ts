import { Elysia } from 'elysia'
import { type ScopeGuard, SERVER_API, UserParams } from '../../../platform/http/api-key-guard.ts'
import { data, responses } from '../../../platform/http/replies/envelope.ts'
import type { Grants } from './grants.ts'
import { GrantsReply } from './model.ts'

type GrantRoutesDeps = { grants: Grants; scopeGuard: ScopeGuard }

export function grantRoutes({ grants, scopeGuard }: GrantRoutesDeps) {
  return new Elysia({ name: 'server-grants' })
    .use(scopeGuard)
    .get(
      `${SERVER_API}/users/v1/:id/grants`,
      async ({ params }) => data(await grants.list(params.id)),
      {
        scope: 'subscriptions:read',
        params: UserParams,
        response: responses(GrantsReply, 400, 401, 403, 404, 429),
        detail: {
          tags: ['Subscriptions'],
          operationId: 'listGrants',
          summary: 'List the access that a user was granted',
          description: 'Includes access that has ended. Empty for an unknown user.',
        },
      },
    )
}
