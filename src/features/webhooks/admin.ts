import { Elysia, t } from 'elysia'
import { json } from '../../platform/http/body.ts'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/envelope.ts'
import { DELIVERY_STATES } from './deliveries.ts'
import type { Endpoint } from './endpoints.ts'
import { EVENT_TYPES } from './events.ts'
import type { Webhooks } from './webhooks.ts'

type WebhooksAdminDeps = { webhooks: Webhooks; record: RecordAction }

const IdParams = closedObject({ id: t.String({ maxLength: 100 }) })
const NewEndpointBody = closedObject({
  url: t.String({ maxLength: 2_000 }),
  events: t.Array(t.String({ maxLength: 100 }), { maxItems: EVENT_TYPES.length + 1 }),
  description: t.String({ maxLength: 200 }),
})
const DeliveriesQuery = closedObject({
  endpoint: t.Optional(t.String({ maxLength: 100 })),
  state: t.Optional(t.Union(DELIVERY_STATES.map((state) => t.Literal(state)))),
  after: t.Optional(t.String({ maxLength: 100 })),
})

/** Webhook endpoints, and what was delivered to them. */
export function webhooksAdmin({ webhooks, record }: WebhooksAdminDeps) {
  const { endpoints, deliveries } = webhooks
  return new Elysia({ name: 'webhooks-admin', prefix: CONSOLE_API })
    .get(
      '/webhooks',
      async () => data({ endpoints: await endpoints.list(), types: EVENT_TYPES }),
      allow('reader'),
    )
    .post(
      '/webhooks/add',
      async ({ request, body }) => {
        const { endpoint, secret } = await endpoints.add(body)
        const target = endpoint.id
        await record(request, { action: 'webhooks.add', target, after: changesOf(endpoint) })
        return data({ endpoint, secret })
      },
      { ...json(NewEndpointBody), ...allow('operator', 'stepUp') },
    )
    .get('/webhooks/:id', async ({ params: { id } }) => data(await endpoints.find(id)), {
      params: IdParams,
      ...allow('reader'),
    })
    .post(
      '/webhooks/:id/test',
      async ({ request, params: { id } }) => {
        const result = await webhooks.test(id)
        const after = { delivery: result.delivery }
        await record(request, { action: 'webhooks.test', target: id, after })
        return data(result)
      },
      { params: IdParams, ...allow('operator') },
    )
    .post(
      '/webhooks/:id/disable',
      async ({ request, params: { id } }) => {
        const endpoint = await endpoints.disable(id)
        const after = { url: endpoint.url }
        await record(request, { action: 'webhooks.disable', target: id, after })
        return data(endpoint)
      },
      { params: IdParams, ...allow('operator') },
    )
    .post(
      '/webhooks/:id/enable',
      async ({ request, params: { id } }) => {
        const endpoint = await endpoints.enable(id)
        const after = { url: endpoint.url }
        await record(request, { action: 'webhooks.enable', target: id, after })
        return data(endpoint)
      },
      { params: IdParams, ...allow('operator') },
    )
    .post(
      '/webhooks/:id/rotate',
      async ({ request, params: { id } }) => {
        const { endpoint, secret } = await endpoints.rotate(id)
        const after = { rotatingUntil: endpoint.rotatingUntil }
        await record(request, { action: 'webhooks.rotate', target: id, after })
        return data({ endpoint, secret })
      },
      { params: IdParams, ...allow('operator', 'stepUp') },
    )
    .post(
      '/webhooks/:id/remove',
      async ({ request, params: { id } }) => {
        const endpoint = await endpoints.remove(id)
        const before = changesOf(endpoint)
        await record(request, { action: 'webhooks.remove', target: id, before })
        return data(null)
      },
      { params: IdParams, ...allow('operator', 'stepUp') },
    )
    .get('/deliveries', async ({ query }) => data(await deliveries.list(query)), {
      query: DeliveriesQuery,
      ...allow('reader'),
    })
    .get('/deliveries/:id', async ({ params: { id } }) => data(await deliveries.show(id)), {
      params: IdParams,
      ...allow('reader'),
    })
    .post(
      '/deliveries/:id/resend',
      async ({ request, params: { id } }) => {
        const delivery = await deliveries.resend(id)
        const after = { endpoint: delivery.endpointId, type: delivery.type }
        await record(request, { action: 'webhooks.resend', target: id, after })
        return data(delivery)
      },
      { params: IdParams, ...allow('operator') },
    )
}

function changesOf({ url, events, description }: Endpoint) {
  return { url, events, description }
}
