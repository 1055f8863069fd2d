import {
  dataCommand,
  type Options,
  parseLimitOption,
  prettyJson,
  UsageError,
} from '../../../lib/command.ts'
import type { AppleEnvironment } from './apple/api.ts'
import type { Consumption } from './apple/app-store.ts'
import { asReply, requireKey } from './purchases/actions.ts'
import { type FoundPurchase, PURCHASE_FILTERS } from './purchases/search.ts'
import type { Stores } from './stores.ts'

type Needs = {
  stores: Stores
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
}

const DEFAULT_LIMIT = 50
const SANDBOX_OPTION: [string, string] = ['--sandbox', 'the sandbox instead of production']

const REASON_OPTION: [string, string] = ['--reason <text>', 'why, for the purchase’s history']

const storesCheck = dataCommand({
  name: 'stores check',
  summary: 'Check the settings of the stores, and that Apple and Google accept the keys',
  work: ({ stores }: Needs) => stores.status.check(),
  print: printChecks,
  isFailure: hasFault,
})

const storesTest = dataCommand({
  name: 'stores test',
  summary: 'Make Apple send a test notification, and wait for it',
  options: [SANDBOX_OPTION],
  input: (_args, options) => environmentIn(options),
  work: ({ stores }: Needs, environment: AppleEnvironment) => stores.status.test(environment),
  print: printChecks,
  isFailure: hasFault,
  changes: (_results, environment) => ({ environment }),
})

const storesStatus = dataCommand({
  name: 'stores status',
  summary: 'Show the last notification about each app, and the time up to which none is missing',
  work: ({ stores }: Needs) => stores.status.read(),
  print: ({ url, apps, play }) =>
    [
      ...(play === null || apps.length > 0 ? [`Notification URL: ${url ?? 'set BASE_URL'}`] : []),
      ...apps.map(({ bundleId, environment, lastNotificationAt, completeUntil }) =>
        [bundleId, environment, lastNotificationAt ?? 'never', completeUntil ?? 'never'].join('\t'),
      ),
      ...(play === null ? [] : printPlay(play)),
    ].join('\n'),
})

const storesCatchUp = dataCommand({
  name: 'stores catch-up',
  summary: "Read Apple's history of notifications and Google's refunds, for what never arrived",
  options: [
    ['--since <time>', 'from an earlier time, ISO 8601 (default: where the last run ended)'],
    SANDBOX_OPTION,
  ],
  input: (_args, options) => ({ environment: environmentIn(options), ...readSince(options) }),
  work: async (
    { stores }: Needs,
    { environment, since }: { environment: AppleEnvironment; since?: string },
  ) => {
    const { history, play } = stores
    const signal = new AbortController().signal
    const refunds = play === null ? null : await play.voided.catchUp(signal).catch(throwAsReply)
    const isPlayOnly = play !== null && stores.apps.length === 0
    const caughtUp = isPlayOnly
      ? { read: 0, added: 0, refused: 0 }
      : await requireKey(history)
          .catchUp(environment, {
            signal,
            ...(since === undefined ? {} : { since: new Date(since) }),
          })
          .catch(throwAsReply)
    return { ...caughtUp, refunds }
  },
  print: ({ read, added, refused, refunds }) =>
    [
      ...(read === 0 && refunds !== null
        ? []
        : [
            `Read ${read} notifications: ${added} were missing${refused === 0 ? '' : `, ${refused} refused`}.`,
          ]),
      ...(refunds === null ? [] : [`Google lists ${refunds} refunds.`]),
    ].join('\n'),
  changes: (outcome) => ({ ...outcome }),
})

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
    SANDBOX_OPTION,
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
    { user, ...options }: Parameters<Stores['purchaseSearch']['list']>[0] & { user: string | null },
  ) =>
    user === null
      ? purchaseSearch.list(options)
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
    by,
  ) => {
    const userId = (await userIdOf(user)) ?? user
    await stores.actions.give(id, userId, { by, reason })
    return { userId, purchases: await stores.purchaseSearch.findOrThrow(id) }
  },
  print: ({ userId, purchases }) =>
    `${purchases.map(({ transactionId }) => transactionId).join(', ')} now belongs to ${userId}.`,
  changes: ({ userId }, { reason }) => ({ userId, reason }),
  target: (_outcome, { id }) => id,
})

const purchasesTakeBack = dataCommand({
  name: 'purchases take-back',
  summary: 'Undo the latest "purchases give"',
  arguments: '<transaction-or-order>',
  options: [REASON_OPTION],
  input: ([id = ''], options) => ({ id, reason: reasonIn(options) }),
  work: async ({ stores }: Needs, { id, reason }: { id: string; reason: string }, by) => {
    await stores.actions.takeBack(id, { by, reason })
    return stores.purchaseSearch.findOrThrow(id)
  },
  print: (purchases) =>
    purchases
      .map(({ transactionId, userId }) => `${transactionId} now belongs to ${userId ?? 'no user'}.`)
      .join('\n'),
  changes: (purchases: FoundPurchase[], { reason }) => ({
    userId: purchases[0]?.userId ?? null,
    reason,
  }),
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
    await stores.actions.answerRefund(id, consumption)
    return { id }
  },
  print: ({ id }) => `Apple has the answer about ${id}.`,
  changes: (_outcome, { consumption }) => ({ ...consumption }),
  target: ({ id }) => id,
})

const PREFERENCES: Record<string, string> = {
  decline: 'DECLINE',
  grant: 'GRANT_FULL',
  'grant-prorated': 'GRANT_PRORATED',
}

function throwAsReply(error: unknown): never {
  throw asReply(error)
}

function printPlay(play: NonNullable<Awaited<ReturnType<Stores['status']['read']>>['play']>) {
  const { url, audience, packages, waiting, oldestUnacknowledgedAt } = play
  return [
    `Push URL: ${url ?? 'set BASE_URL'}`,
    `Push audience: ${audience ?? 'set BASE_URL'}`,
    ...packages.map(({ packageName, lastNotificationAt, refundsReadUntil }) =>
      [packageName, lastNotificationAt ?? 'never', refundsReadUntil ?? 'never'].join('\t'),
    ),
    `Waiting for Google: ${waiting}`,
    `Oldest unacknowledged purchase: ${oldestUnacknowledgedAt ?? 'none'}`,
  ]
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

function environmentIn({ sandbox }: Options): AppleEnvironment {
  return sandbox ? 'SANDBOX' : 'PRODUCTION'
}

function readSince({ since }: Options): { since?: string } {
  if (typeof since !== 'string') return {}
  const time = new Date(since)
  if (Number.isNaN(time.getTime())) throw new UsageError('--since takes a time in ISO 8601.')
  return { since: time.toISOString() }
}

function printChecks(checks: { what: string; fault: string | null }[]): string {
  return checks
    .map(
      ({ what, fault }) =>
        `${fault === null ? 'ok' : 'FAULT'}\t${what}${fault === null ? '' : `: ${fault}`}`,
    )
    .join('\n')
}

function hasFault(checks: { fault: string | null }[]): boolean {
  return checks.some(({ fault }) => fault !== null)
}

export const storeCommands = [
  storesCheck,
  storesTest,
  storesStatus,
  storesCatchUp,
  purchasesList,
  purchasesShow,
  purchasesAsk,
  purchasesGive,
  purchasesTakeBack,
  purchasesAnswerRefund,
]
