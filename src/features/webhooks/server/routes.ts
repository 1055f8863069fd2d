import { Elysia } from 'elysia'
import { type ScopeGuard, SERVER_API } from '../../../platform/http/api-key-guard.ts'
import { data, responses } from '../../../platform/http/replies/envelope.ts'
import { hideQuery } from '../endpoints.ts'
import type { Webhooks } from '../webhooks.ts'
import { EndpointsReply } from './model.ts'

type ServerWebhookDeps = { webhooks: Webhooks; scopeGuard: ScopeGuard }

export function serverWebhookRoutes({ webhooks: { endpoints }, scopeGuard }: ServerWebhookDeps) {
  return new Elysia({ name: 'server-webhooks' })
    .use(scopeGuard)
    .get(`${SERVER_API}/webhooks/v1`, async () => data((await endpoints.list()).map(hideQuery)), {
      scope: 'webhooks:write',
      response: responses(EndpointsReply, 400, 401, 403, 429),
      detail: {
        tags: ['Webhooks'],
        operationId: 'listWebhookEndpoints',
        summary: 'List the webhook endpoints',
        description:
          'Without their secrets, and without the queries of their URLs, which are often secrets.',
      },
    })
}
