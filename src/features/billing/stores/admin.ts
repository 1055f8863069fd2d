import { Elysia, t } from 'elysia'
import { json } from '../../../platform/http/body.ts'
import { allow, CONSOLE_API, type RecordAction } from '../../../platform/http/console-guard.ts'
import { closedObject, data, oneOf } from '../../../platform/http/envelope.ts'
import type { Stores } from './stores.ts'

type StoreAdminDeps = { stores: Stores; record: RecordAction }

const ENVIRONMENTS = ['production', 'sandbox'] as const
const PurchasesQuery = closedObject({
  id: t.Optional(t.String({ maxLength: 64 })),
  filter: t.Optional(oneOf(['unclaimed', 'doubled'], { description: 'which purchases' })),
  environment: t.Optional(oneOf(ENVIRONMENTS, { description: 'production by default' })),
})
const IdParam = closedObject({ id: t.String({ maxLength: 64 }) })
const TestBody = closedObject({
  environment: oneOf(ENVIRONMENTS, { description: 'production or the sandbox' }),
})
const GiveBody = closedObject({ userId: t.String({ maxLength: 64 }) })

const MAX_LISTED = 100

/** Console routes for the stores and their purchases. */
export function storeAdmin({ stores, record }: StoreAdminDeps) {
  const { status, purchaseSearch, actions } = stores
  return new Elysia({ name: 'store-admin', prefix: CONSOLE_API })
    .get('/stores', async () => data(await status.read()), allow('reader'))
    .get('/stores/check', async () => data(await status.check()), allow('reader'))
    .post(
      '/stores/test',
      async ({ request, body }) => {
        const environment = body.environment === 'sandbox' ? 'SANDBOX' : 'PRODUCTION'
        const results = await status.test(environment)
        await record(request, { action: 'stores.test', after: { environment } })
        return data(results)
      },
      { ...json(TestBody), ...allow('operator') },
    )
    .get(
      '/purchases',
      async ({ query: { id, ...options } }) =>
        data(
          id === undefined
            ? await purchaseSearch.list({ ...options, limit: MAX_LISTED })
            : await purchaseSearch.find(id),
        ),
      { query: PurchasesQuery, ...allow('reader') },
    )
    .post(
      '/purchases/:id/ask',
      async ({ request, params: { id } }) => {
        const found = await actions.ask(id)
        await record(request, { action: 'purchases.ask', target: id })
        return data(found)
      },
      { params: IdParam, ...allow('operator') },
    )
    .post(
      '/purchases/:id/give',
      async ({ request, params: { id }, body: { userId } }) => {
        const [before] = await purchaseSearch.find(id)
        await actions.give(id, userId)
        await record(request, {
          action: 'purchases.give',
          target: id,
          before: { userId: before?.userId ?? null },
          after: { userId },
        })
        return data(await purchaseSearch.find(id))
      },
      { params: IdParam, ...json(GiveBody), ...allow('operator') },
    )
}
