import { Elysia, t } from 'elysia'
import { restoreDots } from '../../../lib/path-segment.ts'
import { json } from '../../../platform/http/body.ts'
import { disableIdleTimeout } from '../../../platform/http/connection-time.ts'
import {
  allow,
  CONSOLE_API,
  operatorOf,
  type RecordAction,
} from '../../../platform/http/console-guard.ts'
import { closedObject, data, oneOf } from '../../../platform/http/envelope.ts'
import { MAX_REASON_LENGTH } from '../inbox/support.ts'
import { type FoundPurchase, PURCHASE_FILTERS } from './purchases/search.ts'
import type { Stores } from './stores.ts'

type StoreAdminDeps = {
  stores: Stores
  /** The user with this id, in the form that the console shows; null for none. */
  findUser: (userId: string) => Promise<unknown>
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
  record: RecordAction
}

const ENVIRONMENTS = ['production', 'sandbox'] as const
const PurchasesQuery = closedObject({
  id: t.Optional(t.String({ maxLength: 300 })),
  filter: t.Optional(oneOf(PURCHASE_FILTERS, { description: 'which purchases' })),
  environment: t.Optional(oneOf(ENVIRONMENTS, { description: 'production by default' })),
})
const IdParam = closedObject({ id: t.String({ maxLength: 300 }) })
const TestBody = closedObject({
  environment: oneOf(ENVIRONMENTS, { description: 'production or the sandbox' }),
})
const ReasonBody = closedObject({ reason: t.String({ maxLength: MAX_REASON_LENGTH }) })
/** `user`: an id or an e-mail address. */
const GiveBody = closedObject({ user: t.String({ maxLength: 320 }), ...ReasonBody.properties })

const MAX_LISTED = 100

/** Console routes for the stores and their purchases. */
export function storeAdmin({ stores, findUser, userIdOf, record }: StoreAdminDeps) {
  const { status, purchaseSearch, actions } = stores
  return new Elysia({ name: 'store-admin', prefix: CONSOLE_API })
    .get('/stores', async () => data(await status.read()), allow('reader'))
    .get(
      '/stores/check',
      async ({ request, server }) => {
        disableIdleTimeout(request, server)
        return data(await status.check())
      },
      allow('reader'),
    )
    .post(
      '/stores/test',
      async ({ request, server, body }) => {
        disableIdleTimeout(request, server)
        const environment = body.environment === 'sandbox' ? 'SANDBOX' : 'PRODUCTION'
        const results = await status.test(environment)
        await record(request, { action: 'stores.test', after: { environment } })
        return data(results)
      },
      { ...json(TestBody), ...allow('operator') },
    )
    .get(
      '/purchases',
      async ({ request, server, query: { id, ...options } }) => {
        if (id === undefined) {
          return data(
            await withOwners(await purchaseSearch.list({ ...options, limit: MAX_LISTED })),
          )
        }
        const userId = (await userIdOf(id)) ?? id.trim()
        const theirs = await purchaseSearch.listOf(userId, MAX_LISTED)
        if (theirs.length > 0) return data(await withOwners(theirs))
        disableIdleTimeout(request, server)
        return data(await withOwners(await purchaseSearch.find(id)))
      },
      { query: PurchasesQuery, ...allow('reader') },
    )
    .post(
      '/purchases/:id/ask',
      async ({ request, server, params }) => {
        disableIdleTimeout(request, server)
        const id = restoreDots(params.id)
        await actions.ask(id)
        await record(request, { action: 'purchases.ask', target: id })
        return data(await withOwners(await purchaseSearch.find(id)))
      },
      { params: IdParam, ...allow('operator') },
    )
    .post(
      '/purchases/:id/give',
      async ({ request, params, body: { user, reason } }) => {
        const id = restoreDots(params.id)
        const userId = (await userIdOf(user)) ?? user
        const [before] = await purchaseSearch.find(id)
        await actions.give(id, userId, { by: operatorOf(request).name, reason })
        await record(request, {
          action: 'purchases.give',
          target: id,
          before: { userId: before?.userId ?? null },
          after: { userId, reason },
        })
        return data(await withOwners(await purchaseSearch.find(id)))
      },
      { params: IdParam, ...json(GiveBody), ...allow('operator', 'stepUp') },
    )
    .post(
      '/purchases/:id/take-back',
      async ({ request, params, body: { reason } }) => {
        const id = restoreDots(params.id)
        const [before] = await purchaseSearch.find(id)
        await actions.takeBack(id, { by: operatorOf(request).name, reason })
        const purchases = await purchaseSearch.find(id)
        await record(request, {
          action: 'purchases.take-back',
          target: id,
          before: { userId: before?.userId ?? null },
          after: { userId: purchases[0]?.userId ?? null, reason },
        })
        return data(await withOwners(purchases))
      },
      { params: IdParam, ...json(ReasonBody), ...allow('operator', 'stepUp') },
    )

  function withOwners(purchases: FoundPurchase[]) {
    return Promise.all(
      purchases.map(async (purchase) => ({
        ...purchase,
        owner: purchase.userId === null ? null : await findUser(purchase.userId),
      })),
    )
  }
}
