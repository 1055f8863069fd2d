import { Elysia } from 'elysia'
import {
  type RecordByKey,
  type ScopeGuard,
  SERVER_API,
} from '../../../platform/http/api-key-guard.ts'
import { json } from '../../../platform/http/body/body.ts'
import { disableIdleTimeout } from '../../../platform/http/body/connection-time.ts'
import { data, Message, message, responses } from '../../../platform/http/replies/envelope.ts'
import { auditedEndpoint, hideQuery } from '../endpoints.ts'
import type { Webhooks } from '../webhooks.ts'
import {
  AddedEndpointReply,
  EndpointChanges,
  EndpointParams,
  EndpointReply,
  EndpointsReply,
  NewEndpointRequest,
  ResentReply,
  TestReply,
} from './model.ts'

type ServerWebhookDeps = { webhooks: Webhooks; scopeGuard: ScopeGuard; recordByKey: RecordByKey }

const PATH = `${SERVER_API}/webhooks/v1`
const tags = ['Webhooks']

/** The routes with which the app's other servers manage the endpoints that receive events. */
export function serverWebhookRoutes({ webhooks, scopeGuard, recordByKey }: ServerWebhookDeps) {
  const { endpoints } = webhooks
  return new Elysia({ name: 'server-webhooks' })
    .use(scopeGuard)
    .get(PATH, async () => data((await endpoints.list()).map(hideQuery)), {
      scope: 'webhooks:write',
      response: responses(EndpointsReply, 400, 401, 403, 429),
      detail: {
        tags,
        operationId: 'listWebhookEndpoints',
        summary: 'List the webhook endpoints',
        description:
          'Without their secrets, and without the queries of their URLs, which are often secrets.',
      },
    })
    .post(
      PATH,
      async ({ request, body }) => {
        const { endpoint, secret } = await endpoints.add(body)
        const after = auditedEndpoint(endpoint)
        await recordByKey(request, { action: 'webhooks.add', target: endpoint.id, after })
        return data({ ...endpoint, secret })
      },
      {
        scope: 'webhooks:write',
        ...json(NewEndpointRequest),
        response: responses(AddedEndpointReply, 400, 401, 403, 409, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'addWebhookEndpoint',
          summary: 'Add a webhook endpoint',
          description: 'Returns the secret, once.',
        },
      },
    )
    .patch(
      `${PATH}/:id`,
      async ({ request, params: { id }, body }) => {
        const { before, endpoint } = await endpoints.change(id, body)
        const [from, after] = [auditedEndpoint(before), auditedEndpoint(endpoint)]
        await recordByKey(request, { action: 'webhooks.change', target: id, before: from, after })
        return data(hideQuery(endpoint))
      },
      {
        scope: 'webhooks:write',
        params: EndpointParams,
        ...json(EndpointChanges),
        response: responses(EndpointReply, 400, 401, 403, 404, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'changeWebhookEndpoint',
          summary: 'Change a webhook endpoint',
          description: 'Waiting deliveries go to the new URL. The secret stays.',
        },
      },
    )
    .post(
      `${PATH}/:id/resend_failed`,
      async ({ request, server, params: { id } }) => {
        disableIdleTimeout(request, server)
        const resent = await webhooks.deliveries.resendFailed(id)
        const action = 'webhooks.resend-failed'
        await recordByKey(request, { action, target: id, after: { resent } })
        return data({ resent })
      },
      {
        scope: 'webhooks:write',
        params: EndpointParams,
        parse: 'none',
        response: responses(ResentReply, 400, 401, 403, 404, 409, 429, 507),
        detail: {
          tags,
          operationId: 'resendFailedWebhooks',
          summary: 'Send all failed deliveries of an endpoint again',
          description: 'Each gets the full schedule of retries.',
        },
      },
    )
    .post(
      `${PATH}/:id/test`,
      async ({ request, params: { id } }) => {
        const result = await webhooks.test(id)
        const after = { delivery: result.delivery }
        await recordByKey(request, { action: 'webhooks.test', target: id, after })
        return data(result)
      },
      {
        scope: 'webhooks:write',
        params: EndpointParams,
        parse: 'none',
        response: responses(TestReply, 400, 401, 403, 404, 429, 507),
        detail: {
          tags,
          operationId: 'testWebhookEndpoint',
          summary: 'Send a test event to an endpoint',
          description: 'Waits for the reply of the endpoint, at most ten seconds.',
        },
      },
    )
    .delete(
      `${PATH}/:id`,
      async ({ request, server, params: { id } }) => {
        disableIdleTimeout(request, server)
        const before = auditedEndpoint(await endpoints.remove(id))
        await recordByKey(request, { action: 'webhooks.remove', target: id, before })
        return message('The endpoint has been removed.')
      },
      {
        scope: 'webhooks:write',
        params: EndpointParams,
        parse: 'none',
        response: responses(Message, 400, 401, 403, 404, 429, 507),
        detail: {
          tags,
          operationId: 'removeWebhookEndpoint',
          summary: 'Remove a webhook endpoint',
          description: 'Also removes its deliveries.',
        },
      },
    )
}
