import { dataCommand, parseLimitOption, prettyJson } from '../../../lib/command.ts'
import type { Stores } from '../stores.ts'
import { type FoundPurchase, PURCHASE_FILTERS } from './search.ts'

type Needs = {
  stores: Pick<Stores, 'purchaseSearch'>
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
}

const DEFAULT_LIMIT = 50

const purchasesList = dataCommand({
  name: 'purchases list',
  summary: 'List active purchases',
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
      'all purchases of a user or an app user id, also those that have ended',
    ],
    ['--sandbox', 'the sandbox instead of production'],
    ['--limit <count>', `maximum number of results (default: ${DEFAULT_LIMIT})`],
  ],
  input: (_args, options) => ({
    user: typeof options['user'] === 'string' ? options['user'] : null,
    filter: PURCHASE_FILTERS.find((name) => options[name]) ?? null,
    environment: options['sandbox'] ? ('sandbox' as const) : ('production' as const),
    limit:
      typeof options['limit'] === 'string' ? parseLimitOption(options['limit']) : DEFAULT_LIMIT,
  }),
  work: async (
    { stores: { purchaseSearch }, userIdOf }: Needs,
    { user, ...options }: Parameters<Stores['purchaseSearch']['page']>[0] & { user: string | null },
  ) =>
    user === null
      ? (await purchaseSearch.page(options)).purchases
      : purchaseSearch.listOf((await userIdOf(user)) ?? user, options.limit),
  print: (purchases) => purchases.map(formatPurchase).join('\n'),
})

const purchasesShow = dataCommand({
  name: 'purchases show',
  summary: 'Show a purchase by its transaction id or the order number on the receipt',
  arguments: '<transaction-or-order>',
  input: ([id = '']) => id,
  work: ({ stores }: Needs, id: string) => stores.purchaseSearch.findOrThrow(id),
  print: prettyJson,
})

function formatPurchase(purchase: FoundPurchase): string {
  const { transactionId, environment, productId, status, endsAt, userId } = purchase
  return [transactionId, environment, productId, status, endsAt ?? 'never', userId ?? '-'].join(
    '\t',
  )
}

export const purchaseCommands = [purchasesList, purchasesShow]
