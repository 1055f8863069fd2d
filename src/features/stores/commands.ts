import { dataCommand, type Options, parseTimeOption } from '../../lib/command.ts'
import type { StoredEnvironment } from '../billing/environment.ts'
import { asReply, requireKey } from './purchases/links.ts'
import type { Stores } from './stores.ts'

type Needs = {
  stores: Stores
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
}

const SANDBOX_OPTION: [string, string] = ['--sandbox', 'the sandbox instead of production']

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
  work: ({ stores }: Needs, environment: StoredEnvironment) => stores.status.test(environment),
  print: printChecks,
  isFailure: hasFault,
  changes: (_results, environment) => ({ environment }),
})

const storesStatus = dataCommand({
  name: 'stores status',
  summary: 'Show the last notification about each app, and up to when its history is complete',
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
  summary: "Record notifications and refunds that never arrived, from Apple's and Google's history",
  options: [
    ['--since <time>', 'from an earlier time, ISO 8601 (default: where the last run ended)'],
    SANDBOX_OPTION,
  ],
  input: (_args, options) => ({ environment: environmentIn(options), ...readSince(options) }),
  work: async (
    { stores }: Needs,
    { environment, since }: { environment: StoredEnvironment; since?: string },
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

function environmentIn({ sandbox }: Options): StoredEnvironment {
  return sandbox ? 'SANDBOX' : 'PRODUCTION'
}

function readSince({ since }: Options): { since?: string } {
  if (typeof since !== 'string') return {}
  return { since: parseTimeOption(since, '--since').toISOString() }
}

function printChecks(checks: { what: string; fault: string | null }[]): string {
  return checks
    .map(
      ({ what, fault }) =>
        `${fault === null ? 'ok' : 'FAILED'}\t${what}${fault === null ? '' : `: ${fault}`}`,
    )
    .join('\n')
}

function hasFault(checks: { fault: string | null }[]): boolean {
  return checks.some(({ fault }) => fault !== null)
}

export const storeCommands = [storesCheck, storesTest, storesStatus, storesCatchUp]
