import { Elysia } from 'elysia'
import { type ScopeGuard, SERVER_API } from '../../../platform/http/api-key-guard.ts'
import { json } from '../../../platform/http/body/body.ts'
import { data, responses } from '../../../platform/http/replies/envelope.ts'
import { ConsumptionReply, ConsumptionRequest, UsageQuery, UsageReply } from '../model.ts'
import type { Usage } from '../service.ts'

const PATH = `${SERVER_API}/usage/v1`
const tags = ['Usage']

export function serverUsageRoutes({ usage, scopeGuard }: { usage: Usage; scopeGuard: ScopeGuard }) {
  return new Elysia({ name: 'server-usage' })
    .use(scopeGuard)
    .get(PATH, async ({ query }) => data(await usage.read(query.userId)), {
      scope: 'usage:read',
      query: UsageQuery,
      response: responses(UsageReply, 400, 401, 403, 404, 422, 429),
      detail: {
        tags,
        operationId: 'readUserUsage',
        summary: 'Read what a user has used',
        description:
          'Every limit of the user’s plan, and how much of it is used in the current period.',
      },
    })
    .post(PATH, async ({ body }) => data(await usage.consume(body)), {
      scope: 'usage:write',
      ...json(ConsumptionRequest),
      response: responses(ConsumptionReply, 400, 401, 403, 404, 413, 415, 422, 429, 507),
      detail: {
        tags,
        operationId: 'useLimit',
        summary: 'Count usage against a limit',
        description:
          'Counts the amount unless it would exceed the limit. `allowed: false` has status 200: nothing was counted. A limit that the user’s plan does not have counts as 0.',
      },
    })
}
