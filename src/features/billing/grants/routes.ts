import { Elysia } from 'elysia'
import {
  findCaller,
  type RecordByKey,
  type ScopeGuard,
  SERVER_API,
  UserParams,
} from '../../../platform/http/api-key-guard.ts'
import { json } from '../../../platform/http/body/body.ts'
import { data, responses } from '../../../platform/http/replies/envelope.ts'
import type { Grants } from './grants.ts'
import { GrantParams, GrantReply, GrantsReply, NewGrantBody, RevokeQuery } from './model.ts'

type GrantRoutesDeps = { grants: Grants; scopeGuard: ScopeGuard; recordByKey: RecordByKey }

const PATH = `${SERVER_API}/users/v1/:id/grants`
const tags = ['Subscriptions']

/** The routes with which the app's other servers give users access without a purchase. */
export function grantRoutes({ grants, scopeGuard, recordByKey }: GrantRoutesDeps) {
  return new Elysia({ name: 'server-grants' })
    .use(scopeGuard)
    .get(PATH, async ({ params }) => data(await grants.list(params.id)), {
      scope: 'subscriptions:read',
      params: UserParams,
      response: responses(GrantsReply, 400, 401, 403, 404, 429),
      detail: {
        tags,
        operationId: 'listGrants',
        summary: 'List the access that a user was granted',
        description: 'Includes access that has ended. Empty for an unknown user.',
      },
    })
    .post(
      PATH,
      async ({ params: { id: userId }, body, request }) => {
        const grant = await grants.give({ ...body, userId, by: nameOf(request) })
        const { id, entitlementId, endsAt } = grant
        const after = { grant: id, entitlementId, endsAt }
        await recordByKey(request, { action: 'access.grant', target: userId, after })
        return data(grant)
      },
      {
        scope: 'subscriptions:write',
        params: UserParams,
        ...json(NewGrantBody),
        response: responses(GrantReply, 400, 401, 403, 404, 409, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'grantAccess',
          summary: 'Give a user an entitlement without a purchase',
          description:
            'It counts like a purchase, but never replaces a more expensive plan. Takes effect at once.',
        },
      },
    )
    .delete(
      `${PATH}/:grantId`,
      async ({ params: { id: userId, grantId }, query, request }) => {
        const reason = query.reason ?? DEFAULT_REASON
        const grant = await grants.revoke(userId, grantId, { by: nameOf(request), reason })
        const after = { grant: grantId, entitlementId: grant.entitlementId }
        await recordByKey(request, { action: 'access.revoke', target: userId, after })
        return data(grant)
      },
      {
        scope: 'subscriptions:write',
        params: GrantParams,
        query: RevokeQuery,
        parse: 'none',
        response: responses(GrantReply, 400, 401, 403, 404, 422, 429, 507),
        detail: {
          tags,
          operationId: 'revokeAccess',
          summary: 'Revoke access that was granted',
          description: 'Ends it at once. Changes nothing if it has ended.',
        },
      },
    )
}

const DEFAULT_REASON = 'revoked by a server'

function nameOf(request: Request): string {
  return `API key ${findCaller(request).key}`
}
