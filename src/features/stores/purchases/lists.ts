import { t } from 'elysia'
import { parseLimitOption } from '../../../lib/command.ts'
import { parseSearchText } from '../../../lib/text/email-address.ts'
import { closedObject, literalUnion } from '../../../platform/http/replies/envelope.ts'
import { after, defineList, type ListContext } from '../../../platform/lists/list.ts'
import { ENVIRONMENTS } from '../../billing/environment.ts'
import type { Stores } from '../stores.ts'
import { PURCHASE_FILTERS, PURCHASE_ORDERS } from './search.ts'

type Needs = {
  stores: Stores
  /** The id of the user with an e-mail address, or null. */
  findIdByEmail: (email: string) => Promise<string | null>
}

/** Each purchase of a page takes several queries. */
const PAGE_SIZE = 25
/** Rows examined for a page of all active purchases, which takes about 7 ms. */
const MAX_SCANNED = 1_500
/** A search shows the purchases of most users on one page. */
const SEARCH_PAGE_SIZE = 100
const DEFAULT_LIMIT = 50

const purchases = defineList({
  name: 'purchases',
  summary: 'List active purchases',
  console: 'purchases',
  query: closedObject({
    id: t.Optional(t.String({ maxLength: 300 })),
    filter: t.Optional(literalUnion(PURCHASE_FILTERS, { description: 'which purchases' })),
    environment: t.Optional(literalUnion(ENVIRONMENTS, { description: 'production by default' })),
    sort: t.Optional(
      literalUnion(PURCHASE_ORDERS, {
        description: 'by transaction id, or by when the current period began',
      }),
    ),
    after,
  }),
  isPersonal: true,
  async read(needs: Needs, { id, limit = PAGE_SIZE, ...query }, { reader, signal }) {
    if (id !== undefined) {
      const size = reader === 'page' ? SEARCH_PAGE_SIZE : limit
      return search(needs, id, { limit: size, after: query.after }, reader)
    }
    // Matches of a filter are rare, so a search for them may take a few seconds.
    const isBrief = query.filter === undefined && reader !== 'command'
    const effort = isBrief ? { maxScanned: MAX_SCANNED } : {}
    return needs.stores.purchaseSearch.page({ ...query, ...effort, limit, signal })
  },
  rows: ({ purchases }) => purchases,
  userIds: ({ userId }) => [userId],
  show: async ({ purchases, next }, { stores }) => ({
    purchases: await stores.withOwners(purchases),
    next,
  }),
  columns: {
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
    user: ({ userId }, names) => names[userId ?? ''],
    linked_by: ({ link }) => link?.by,
  },
  command: {
    options: [
      ['--unclaimed', 'only those that belong to no user'],
      ['--doubled', 'only those whose user has the product twice'],
      ['--unacknowledged', 'only those that Google will refund three days after the purchase'],
      ['--gone', 'only those that Google no longer knows'],
      [
        '--differing',
        'only those for which the provider and the store report different products or ends',
      ],
      [
        '--user <id-or-email>',
        'all purchases of a user or an app user id, the latest first, including those that have ended',
      ],
      ['--sandbox', 'the sandbox instead of production'],
      ['--limit <count>', `maximum number of results (default: ${DEFAULT_LIMIT})`],
    ],
    read(_args, { user, limit, sandbox, ...options }) {
      const filter = PURCHASE_FILTERS.find((name) => options[name])
      return {
        ...(typeof user === 'string' && { id: user }),
        ...(filter && { filter }),
        environment: sandbox ? ('sandbox' as const) : ('production' as const),
        limit: typeof limit === 'string' ? parseLimitOption(limit) : DEFAULT_LIMIT,
      }
    },
    line: ({ transactionId, environment, productId, status, endsAt, userId }) => [
      transactionId,
      environment,
      productId,
      status,
      endsAt ?? 'never',
      userId ?? '-',
    ],
    hasOnlyRows: true,
  },
})

/** The purchases of a user; in the console also those with a transaction id or an order number. */
async function search(
  { stores: { purchaseSearch }, findIdByEmail }: Needs,
  id: string,
  page: { limit: number; after: string | undefined },
  reader: ListContext['reader'],
) {
  const text = parseSearchText(id)
  const userId = (await findIdByEmail(text)) ?? text.trim()
  const owned = await purchaseSearch.listForUser(userId, page)
  if (reader === 'command' || owned.purchases.length > 0) return owned
  return { purchases: await purchaseSearch.find(text), next: null }
}

export const purchaseLists = [purchases]
