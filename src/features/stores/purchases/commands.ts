import {
  dataCommand,
  type Options,
  parseLimitOption,
  prettyJson,
  UsageError,
} from '../../../lib/command.ts'
import type { Consumption } from '../apple/app-store.ts'
import type { Stores } from '../stores.ts'
import { type FoundPurchase, PURCHASE_FILTERS } from './search.ts'

type Needs = {
  stores: Pick<Stores, 'purchaseSearch' | 'actions'>
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
}

const DEFAULT_LIMIT = 50
const REASON_OPTION: [string, string] = ['--reason <text>', 'why, for the purchase’s history']

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

const purchasesAsk = dataCommand({
  name: 'purchases ask',
  summary: 'Ask the store about a purchase now',
  arguments: '<transaction-or-order>',
  input: ([id = '']) => id,
  work: ({ stores }: Needs, id: string) => stores.actions.ask(id),
  print: prettyJson,
  changes: (purchases: FoundPurchase[]) => ({
    statuses: purchases.map(({ status }) => status),
  }),
  target: (_purchases, id) => id,
})

const purchasesGive = dataCommand({
  name: 'purchases give',
  summary: 'Link a purchase to a user, or move it, whatever PURCHASE_TRANSFER says',
  arguments: '<transaction-or-order> <id-or-email>',
  options: [REASON_OPTION],
  input: ([id = '', user = ''], options) => ({ id, user, reason: reasonIn(options) }),
  work: async (
    { stores, userIdOf }: Needs,
    { id, user, reason }: { id: string; user: string; reason: string },
    { user: by },
  ) => {
    const userId = (await userIdOf(user)) ?? user
    await stores.actions.give(id, userId, { by, reason })
    return { userId, purchases: await stores.purchaseSearch.findOrThrow(id) }
  },
  print: ({ userId, purchases }) =>
    `${purchases.map(({ transactionId }) => transactionId).join(', ')} now belongs to ${userId}.`,
  changes: ({ userId }) => ({ userId }),
  target: (_outcome, { id }) => id,
})

const purchasesTakeBack = dataCommand({
  name: 'purchases take-back',
  summary: 'Undo the latest "purchases give"',
  arguments: '<transaction-or-order>',
  options: [REASON_OPTION],
  input: ([id = ''], options) => ({ id, reason: reasonIn(options) }),
  work: async ({ stores }: Needs, { id, reason }: { id: string; reason: string }, { user: by }) => {
    await stores.actions.takeBack(id, { by, reason })
    return stores.purchaseSearch.findOrThrow(id)
  },
  print: (purchases) =>
    purchases
      .map(({ transactionId, userId }) => `${transactionId} now belongs to ${userId ?? 'no user'}.`)
      .join('\n'),
  changes: (purchases: FoundPurchase[]) => ({ userId: purchases[0]?.userId ?? null }),
  target: (_purchases, { id }) => id,
})

const purchasesAnswerRefund = dataCommand({
  name: 'purchases answer-refund',
  summary: 'Tell Apple how a purchase was used, within 12 hours of a CONSUMPTION_REQUEST event',
  arguments: '<transaction>',
  options: [
    ['--consented', 'the customer has agreed that you tell Apple (required)'],
    ['--undelivered', 'the customer did not get what they paid for'],
    ['--prefer <outcome>', 'what you prefer: decline, grant or grant-prorated'],
  ],
  input: ([id = ''], { consented, undelivered, prefer }) => {
    if (!consented) throw new UsageError('Apple requires the consent of the customer: --consented.')
    if (prefer !== undefined && !Object.hasOwn(PREFERENCES, String(prefer)))
      throw new UsageError('--prefer takes decline, grant or grant-prorated.')
    return {
      id,
      consumption: {
        customerConsented: true as const,
        deliveryStatus: undelivered ? 'UNDELIVERED_OTHER' : 'DELIVERED',
        sampleContentProvided: false,
        ...(prefer === undefined ? {} : { refundPreference: PREFERENCES[String(prefer)] ?? '' }),
      },
    }
  },
  work: async (
    { stores }: Needs,
    { id, consumption }: { id: string; consumption: Consumption },
  ) => {
    return { transactions: await stores.actions.answerRefund(id, consumption) }
  },
  print: ({ transactions }) => `Apple has received the answer about ${transactions.join(', ')}.`,
  changes: (_outcome, { consumption }) => ({ ...consumption }),
  target: (_outcome, { id }) => id,
})

const PREFERENCES: Record<string, string> = {
  decline: 'DECLINE',
  grant: 'GRANT_FULL',
  'grant-prorated': 'GRANT_PRORATED',
}

function formatPurchase(purchase: FoundPurchase): string {
  const { transactionId, environment, productId, status, endsAt, userId } = purchase
  return [transactionId, environment, productId, status, endsAt ?? 'never', userId ?? '-'].join(
    '\t',
  )
}

function reasonIn({ reason }: Options): string {
  return typeof reason === 'string' ? reason : 'no reason given'
}

export const purchaseCommands = [
  purchasesList,
  purchasesShow,
  purchasesAsk,
  purchasesGive,
  purchasesTakeBack,
  purchasesAnswerRefund,
]
