import { Elysia, t } from 'elysia'
import type { ConsoleContext } from '../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data, oneOf } from '../../platform/http/replies/envelope.ts'
import { readSlices } from '../../platform/lists/csv.ts'
import { DELIVERY_ORDERS, DELIVERY_STATES, type DeliveryFilter } from './deliveries.ts'
import { type Endpoint, hideQuery } from './endpoints.ts'
import { EVENT_TYPES } from './events.ts'
import type { Webhooks } from './webhooks.ts'

type WebhooksAdminDeps = { webhooks: Webhooks } & Pick<ConsoleContext, 'exportCsv' | 'namesOf'>

const IdParams = closedObject({ id: t.String({ maxLength: 100 }) })
const DeliveriesQuery = closedObject({
  sort: t.Optional(oneOf(DELIVERY_ORDERS, { description: 'by time of creation' })),
  endpoint: t.Optional(t.String({ maxLength: 100 })),
  state: t.Optional(t.Union(DELIVERY_STATES.map((state) => t.Literal(state)))),
  after: t.Optional(t.String({ maxLength: 100 })),
})

/** Webhook endpoints, and what was delivered to them. */
export function webhooksAdmin({ webhooks, exportCsv, namesOf }: WebhooksAdminDeps) {
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
    .get('/webhooks/:id', async ({ params: { id } }) => data(hideQuery(await endpoints.find(id))), {
      params: IdParams,
      ...allow('reader'),
    })
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

  async function listEndpoints() {
    return (await endpoints.list()).map(hideQuery)
  }

  /** A page of deliveries, with the names of the users in it. */
  async function listDeliveries(filter: DeliveryFilter) {
    const page = await deliveries.list(filter)
    return { ...page, names: await namesOf(page.deliveries.map(({ userId }) => userId)) }
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
