import { Elysia, t } from 'elysia'
import { restoreDots } from '../../lib/text/path-segment.ts'
import type { ConsoleContext } from '../../platform/feature.ts'
import { json } from '../../platform/http/body/body.ts'
import { disableIdleTimeout } from '../../platform/http/body/connection-time.ts'
import { allow, CONSOLE_API, findOperator } from '../../platform/http/console-guard.ts'
import { closedObject, data, oneOf } from '../../platform/http/replies/envelope.ts'
import { readSlices } from '../../platform/lists/csv.ts'
import { findPlanTitle } from '../billing/access/access-explanation.ts'
import type { Catalogue } from '../billing/access/plan-matching.ts'
import type { PlanLike } from '../billing/access/subscription.ts'
import { ENVIRONMENTS, storedEnvironment } from '../billing/environment.ts'
import { MAX_REASON_LENGTH } from '../billing/inbox/support.ts'
import { type FoundPurchase, PURCHASE_FILTERS, PURCHASE_ORDERS } from './purchases/search.ts'
import type { Stores } from './stores.ts'

type StoreAdminDeps = {
  stores: Stores
  /** The user with this id, in the form that the console shows; null for none. */
  findUser: (userId: string) => Promise<unknown>
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
  listPlans: (wanted: string[]) => Promise<Catalogue<PlanLike>>
} & Pick<ConsoleContext, 'record' | 'exportCsv' | 'namesOf'>

const PurchasesQuery = closedObject({
  id: t.Optional(t.String({ maxLength: 300 })),
  filter: t.Optional(oneOf(PURCHASE_FILTERS, { description: 'which purchases' })),
  environment: t.Optional(oneOf(ENVIRONMENTS, { description: 'production by default' })),
  sort: t.Optional(oneOf(PURCHASE_ORDERS, { description: 'by transaction id' })),
  after: t.Optional(t.String({ maxLength: 400 })),
})
const IdParam = closedObject({ id: t.String({ maxLength: 300 }) })
const TestBody = closedObject({
  environment: oneOf(ENVIRONMENTS, { description: 'production or the sandbox' }),
})
const ReasonBody = closedObject({ reason: t.String({ maxLength: MAX_REASON_LENGTH }) })
/** `link`: the id of the link to undo. */
const TakeBackBody = closedObject({
  ...ReasonBody.properties,
  link: t.String({ maxLength: 400 }),
})
/** `user`: an id or an e-mail address. A transaction can be in both environments. */
const GiveBody = closedObject({
  user: t.String({ maxLength: 320 }),
  environment: t.Optional(oneOf(ENVIRONMENTS, { description: 'both by default' })),
  ...ReasonBody.properties,
})

/** Each purchase takes several queries. */
const PAGE_SIZE = 25
/** Examined for a page of all active purchases, which takes about 7 ms. */
const MAX_SCANNED = 1_500
/** A user has few purchases, so a search has no pages. */
const MAX_FOUND = 100

/** Console routes for the stores and their purchases. */
export function storeAdmin(deps: StoreAdminDeps) {
  const { stores, findUser, userIdOf, record, exportCsv, namesOf } = deps
  const { listPlans } = deps
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
        const environment = storedEnvironment(body.environment)
        const results = await status.test(environment)
        await record(request, { action: 'stores.test', after: { environment } })
        return data(results)
      },
      { ...json(TestBody), ...allow('operator') },
    )
    .get(
      '/purchases',
      async ({ request, server, query }) => {
        if (query.id !== undefined) disableIdleTimeout(request, server)
        const { signal } = request
        const { purchases, next } = await listPurchases({ ...query, limit: PAGE_SIZE, signal })
        return data({ purchases: await withOwners(purchases), next })
      },
      { query: PurchasesQuery, ...allow('reader') },
    )
    .get(
      '/purchases/export.csv',
      (context) => {
        const { query, request } = context
        const { signal } = request
        const read = readSlices('purchases', async (page) => {
          const { purchases, next } = await listPurchases({ ...query, ...page, signal })
          const names = await namesOf(purchases.map(({ userId }) => userId))
          const named = purchases.map((one) => ({ ...one, name: names[one.userId ?? ''] }))
          return { purchases: named, next }
        })
        return exportCsv(context, { name: 'purchases', isPersonal: true, columns: COLUMNS, read })
      },
      { query: PurchasesQuery, ...allow('operator', 'stepUp') },
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
      async ({ request, params, body: { user, environment, reason } }) => {
        const id = restoreDots(params.id)
        const userId = (await userIdOf(user)) ?? user
        const [before] = await purchaseSearch.findOrThrow(id, environment)
        await actions.give(id, userId, { by: findOperator(request).name, reason }, environment)
        await record(request, {
          action: 'purchases.give',
          target: id,
          before: { userId: before?.userId ?? null },
          after: { userId },
        })
        return data(await withOwners(await purchaseSearch.find(id)))
      },
      { params: IdParam, ...json(GiveBody), ...allow('operator', 'stepUp') },
    )
    .post(
      '/purchases/:id/take-back',
      async ({ request, params, body: { reason, link } }) => {
        const id = restoreDots(params.id)
        const [before] = await purchaseSearch.find(id)
        await actions.takeBack(id, { by: findOperator(request).name, reason }, link)
        const purchases = await purchaseSearch.find(id)
        await record(request, {
          action: 'purchases.take-back',
          target: id,
          before: { userId: before?.userId ?? null },
          after: { userId: purchases[0]?.userId ?? null },
        })
        return data(await withOwners(purchases))
      },
      { params: IdParam, ...json(TakeBackBody), ...allow('operator', 'stepUp') },
    )

  /** The purchases of a user or with an id, or a page of those that match the filter. */
  async function listPurchases({ id, ...options }: PurchasesPage) {
    // Matches of a filter are rare, so a search for them may take a few seconds.
    const effort = options.filter === undefined ? { maxScanned: MAX_SCANNED } : {}
    if (id === undefined) return purchaseSearch.page({ ...options, ...effort })
    const userId = (await userIdOf(id)) ?? id.trim()
    const theirs = await purchaseSearch.listOf(userId, MAX_FOUND)
    return { purchases: theirs.length > 0 ? theirs : await purchaseSearch.find(id), next: null }
  }

  async function withOwners(purchases: FoundPurchase[]) {
    const catalogue = await listPlans([])
    return Promise.all(
      purchases.map(async (purchase) => ({
        ...purchase,
        plan: findPlanTitle(purchase.state, catalogue),
        owner: purchase.userId === null ? null : await findUser(purchase.userId),
      })),
    )
  }
}

type PurchasesPage = Omit<typeof PurchasesQuery.static, 'after'> & {
  after?: string | undefined
  limit: number
  signal: AbortSignal
}

/** The columns of an exported list. */
const COLUMNS: Record<string, (purchase: FoundPurchase & { name: string | undefined }) => unknown> =
  {
    transaction: ({ transactionId }) => transactionId,
    environment: ({ environment }) => environment,
    store: ({ store }) => store,
    product: ({ productId }) => productId,
    status: ({ status }) => status,
    active: ({ active }) => active,
    started: ({ startedAt }) => startedAt,
    ends: ({ endsAt }) => endsAt,
    renews: ({ willRenew }) => willRenew,
    source: ({ source }) => source,
    user_id: ({ userId }) => userId,
    user: ({ name }) => name,
    linked_by: ({ link }) => link?.by,
  }
