import { Elysia, t } from 'elysia'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import { hideQuery } from './endpoints.ts'
import type { Webhooks } from './webhooks.ts'

const IdParams = closedObject({ id: t.String({ maxLength: 100 }) })

/** Console routes that return one endpoint, or one delivery with its attempts. */
export function webhooksConsole({ webhooks: { endpoints, deliveries } }: { webhooks: Webhooks }) {
  const byId = { params: IdParams, ...allow('reader') }
  return new Elysia({ name: 'webhooks-console', prefix: CONSOLE_API })
    .get(
      '/webhooks/:id',
      async ({ params: { id } }) => data(hideQuery(await endpoints.find(id))),
      byId,
    )
    .get(
      '/deliveries/:id',
      async ({ params: { id } }) => data(hideQuery(await deliveries.show(id))),
      byId,
    )
}
