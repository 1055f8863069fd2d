import { Elysia, t } from 'elysia'
import type { ConsoleContext } from '../../platform/feature.ts'
import { disableIdleTimeout } from '../../platform/http/body/connection-time.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data, oneOf } from '../../platform/http/replies/envelope.ts'
import { readSlices } from '../../platform/lists/csv.ts'
import { ENVIRONMENTS } from '../billing/environment.ts'
import { type FoundPurchase, PURCHASE_FILTERS, PURCHASE_ORDERS } from './purchases/search.ts'
import type { Stores } from './stores.ts'

type StoreAdminDeps = {
  stores: Stores
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
} & Pick<ConsoleContext, 'exportCsv' | 'namesOf'>

const PurchasesQuery = closedObject({
  id: t.Optional(t.String({ maxLength: 300 })),
  filter: t.Optional(oneOf(PURCHASE_FILTERS, { description: 'which purchases' })),
  environment: t.Optional(oneOf(ENVIRONMENTS, { description: 'production by default' })),
  sort: t.Optional(oneOf(PURCHASE_ORDERS, { description: 'by transaction id' })),
  after: t.Optional(t.String({ maxLength: 400 })),
})

/** Each purchase takes several queries. */
const PAGE_SIZE = 25
/** Examined for a page of all active purchases, which takes about 7 ms. */
const MAX_SCANNED = 1_500
/** A user has few purchases, so a search has no pages. */
const MAX_FOUND = 100

/** Console routes for the stores and their purchases. */
export function storeAdmin(deps: StoreAdminDeps) {
  const { stores, userIdOf, exportCsv, namesOf } = deps
  const { status, purchaseSearch } = stores
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
    .get(
      '/purchases',
      async ({ request, server, query }) => {
        if (query.id !== undefined) disableIdleTimeout(request, server)
        const { signal } = request
        const { purchases, next } = await listPurchases({ ...query, limit: PAGE_SIZE, signal })
        return data({ purchases: await stores.withOwners(purchases), next })
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

  /** The purchases of a user or with an id, or a page of those that match the filter. */
  async function listPurchases({ id, ...options }: PurchasesPage) {
    // Matches of a filter are rare, so a search for them may take a few seconds.
    const effort = options.filter === undefined ? { maxScanned: MAX_SCANNED } : {}
    if (id === undefined) return purchaseSearch.page({ ...options, ...effort })
    const userId = (await userIdOf(id)) ?? id.trim()
    const theirs = await purchaseSearch.listOf(userId, MAX_FOUND)
    return { purchases: theirs.length > 0 ? theirs : await purchaseSearch.find(id), next: null }
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
