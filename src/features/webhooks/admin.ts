import { Elysia, t } from 'elysia'
import type { ConsoleContext } from '../../platform/feature.ts'
import { json } from '../../platform/http/body/body.ts'
import { disableIdleTimeout } from '../../platform/http/body/connection-time.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data, oneOf } from '../../platform/http/replies/envelope.ts'
import { readSlices } from '../../platform/lists/csv.ts'
import { DELIVERY_ORDERS, DELIVERY_STATES, type DeliveryFilter } from './deliveries.ts'
import { auditedEndpoint, type Endpoint, hideQuery, withoutQuery } from './endpoints.ts'
import { EVENT_TYPES } from './events.ts'
import type { Webhooks } from './webhooks.ts'

type WebhooksAdminDeps = { webhooks: Webhooks } & Pick<
  ConsoleContext,
  'record' | 'exportCsv' | 'namesOf'
>

const IdParams = closedObject({ id: t.String({ maxLength: 100 }) })
const NewEndpointBody = closedObject({
  url: t.String({ maxLength: 2_000 }),
  events: t.Array(t.String({ maxLength: 100 }), { maxItems: EVENT_TYPES.length + 1 }),
  description: t.String({ maxLength: 200 }),
})
const DeliveriesQuery = closedObject({
  sort: t.Optional(oneOf(DELIVERY_ORDERS, { description: 'by time of creation' })),
  endpoint: t.Optional(t.String({ maxLength: 100 })),
  state: t.Optional(t.Union(DELIVERY_STATES.map((state) => t.Literal(state)))),
  after: t.Optional(t.String({ maxLength: 100 })),
})

/** Webhook endpoints, and what was delivered to them. */
export function webhooksAdmin({ webhooks, record, exportCsv, namesOf }: WebhooksAdminDeps) {
  const { endpoints, deliveries } = webhooks
  return new Elysia({ name: 'webhooks-admin', prefix: CONSOLE_API })
    .get(
      '/webhooks',
      async () => data({ endpoints: await listEndpoints(), types: EVENT_TYPES }),
      allow('reader'),
    )
    .get(
      '/webhooks/export.csv',
      (context) =>
        exportCsv(context, { name: 'webhooks', columns: ENDPOINT_COLUMNS, read: listEndpoints }),
      allow('reader'),
    )
    .post(
      '/webhooks/add',
      async ({ request, body }) => {
        const { endpoint, secret } = await endpoints.add(body)
        const target = endpoint.id
        await record(request, { action: 'webhooks.add', target, after: auditedEndpoint(endpoint) })
        return data({ endpoint: hideQuery(endpoint), secret })
      },
      { ...json(NewEndpointBody), ...allow('operator', 'stepUp') },
    )
    .post(
      '/webhooks/:id/change',
      async ({ request, params: { id }, body }) => {
        const { before, endpoint } = await endpoints.change(id, body)
        const [from, after] = [auditedEndpoint(before), auditedEndpoint(endpoint)]
        await record(request, { action: 'webhooks.change', target: id, before: from, after })
        return data(hideQuery(endpoint))
      },
      { params: IdParams, ...json(t.Partial(NewEndpointBody)), ...allow('operator', 'stepUp') },
    )
    .post(
      '/webhooks/:id/resend-failed',
      async ({ request, server, params: { id } }) => {
        disableIdleTimeout(request, server)
        const resent = await deliveries.resendFailed(id)
        await record(request, { action: 'webhooks.resend-failed', target: id, after: { resent } })
        return data({ resent })
      },
      { params: IdParams, ...allow('operator') },
    )
    .get('/webhooks/:id', async ({ params: { id } }) => data(hideQuery(await endpoints.find(id))), {
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
        const after = { url: withoutQuery(endpoint.url) }
        await record(request, { action: 'webhooks.disable', target: id, after })
        return data(hideQuery(endpoint))
      },
      { params: IdParams, ...allow('operator') },
    )
    .post(
      '/webhooks/:id/enable',
      async ({ request, params: { id } }) => {
        const endpoint = await endpoints.enable(id)
        const after = { url: withoutQuery(endpoint.url) }
        await record(request, { action: 'webhooks.enable', target: id, after })
        return data(hideQuery(endpoint))
      },
      { params: IdParams, ...allow('operator') },
    )
    .post(
      '/webhooks/:id/rotate',
      async ({ request, params: { id } }) => {
        const { endpoint, secret } = await endpoints.rotate(id)
        const after = { rotatingUntil: endpoint.rotatingUntil }
        await record(request, { action: 'webhooks.rotate', target: id, after })
        return data({ endpoint: hideQuery(endpoint), secret })
      },
      { params: IdParams, ...allow('operator', 'stepUp') },
    )
    .post(
      '/webhooks/:id/remove',
      async ({ request, server, params: { id } }) => {
        disableIdleTimeout(request, server)
        const endpoint = await endpoints.remove(id)
        const before = auditedEndpoint(endpoint)
        await record(request, { action: 'webhooks.remove', target: id, before })
        return data(null)
      },
      { params: IdParams, ...allow('operator', 'stepUp') },
    )
    .get('/deliveries', async ({ query }) => data(await listDeliveries(query)), {
      query: DeliveriesQuery,
      ...allow('reader'),
    })
    .get(
      '/deliveries/export.csv',
      (context) => {
        const { query } = context
        const read = readSlices('deliveries', (page) => deliveries.list({ ...query, ...page }))
        const list = { name: 'deliveries', isPersonal: true, columns: DELIVERY_COLUMNS, read }
        return exportCsv(context, list)
      },
      { query: DeliveriesQuery, ...allow('operator', 'stepUp') },
    )
    .get(
      '/deliveries/:id',
      async ({ params: { id } }) => data(hideQuery(await deliveries.show(id))),
      {
        params: IdParams,
        ...allow('reader'),
      },
    )
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

  async function listEndpoints() {
    return (await endpoints.list()).map(hideQuery)
  }

  /** A page of deliveries, with the names of the users in it. The first page has the total. */
  async function listDeliveries(filter: DeliveryFilter) {
    const page = await deliveries.list(filter)
    return {
      ...page,
      total: filter.after === undefined ? await deliveries.count(filter) : null,
      names: await namesOf(page.deliveries.map(({ userId }) => userId)),
    }
  }
}

/** The columns of exported lists. */
const ENDPOINT_COLUMNS: Record<string, (endpoint: Endpoint) => unknown> = {
  id: ({ id }) => id,
  url: ({ url }) => url,
  events: ({ events }) => events.join(' '),
  description: ({ description }) => description,
  added: ({ createdAt }) => createdAt,
  failing_since: ({ failingSince }) => failingSince,
  disabled: ({ disabledAt }) => disabledAt,
  disabled_reason: ({ disabledReason }) => disabledReason,
}
type Delivery = Awaited<ReturnType<Webhooks['deliveries']['list']>>['deliveries'][number]
const DELIVERY_COLUMNS: Record<string, (delivery: Delivery) => unknown> = {
  created: ({ createdAt }) => createdAt,
  id: ({ id }) => id,
  endpoint_id: ({ endpointId }) => endpointId,
  message_id: ({ messageId }) => messageId,
  type: ({ type }) => type,
  user_id: ({ userId }) => userId,
  state: ({ state }) => state,
  attempts: ({ attempts }) => attempts,
  next_attempt: ({ nextAttemptAt }) => nextAttemptAt,
}
