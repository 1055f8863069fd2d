import { dataCommand, parseLimitOption, parseListOption, UsageError } from '../../lib/command.ts'
import { SCOPES, type Scope } from '../../lib/scopes.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { ApiKeys, NewKey } from './service.ts'

type Needs = { apiKeys: ApiKeys }

const create = dataCommand({
  name: 'api-keys create',
  summary: 'Create a key for the server API and print it once',
  arguments: '<name>',
  options: [
    ['--scope <scopes>', `what the key may do, separated by commas: ${SCOPES.join(', ')}`, 'list'],
    ['--expires <days>', 'when it expires, such as 90d (default: never)'],
    [
      '--network <networks>',
      'the only addresses or networks that may use it, such as 10.0.0.0/8',
      'list',
    ],
    ['--requests-per-minute <count>', 'refuse more requests in a minute (default: no limit)'],
  ],
  input: ([name = ''], options): NewKey => ({
    name,
    scopes: readScopes(options['scope']),
    networks: parseListOption(options['network']),
    expiresInMs: readDays(options['expires']),
    requestsPerMinute: readRate(options['requestsPerMinute']),
  }),
  work: ({ apiKeys }: Needs, wanted: NewKey) => apiKeys.create(wanted),
  print: ({ name, secret, scopes }) =>
    `Created ${name} (${scopes.join(', ')}). Copy the key now. It is not shown again.\n${secret}`,
  changes: ({ prefix, scopes, networks, expiresAt }) => ({ prefix, scopes, networks, expiresAt }),
  target: ({ name }) => name,
})

const list = dataCommand({
  name: 'api-keys list',
  summary: 'List the API keys',
  work: ({ apiKeys }: Needs) => apiKeys.list(),
  print: (keys) =>
    keys
      .map(({ name, prefix, status, scopes, networks, expiresAt, lastUsedAt }) =>
        [
          name,
          `${prefix}…`,
          status,
          scopes.join(','),
          networks.join(',') || 'any network',
          expiresAt === null ? 'never expires' : `expires ${expiresAt}`,
          lastUsedAt === null ? 'never used' : `used ${lastUsedAt}`,
        ].join('\t'),
      )
      .join('\n'),
})

const revoke = dataCommand({
  name: 'api-keys revoke',
  summary: 'Revoke an API key immediately',
  arguments: '<name>',
  input: ([name = '']) => name,
  risk: async (_needs: Needs, name: string) =>
    `Requests with the key ${name} will fail immediately.`,
  work: ({ apiKeys }: Needs, name: string) => apiKeys.revoke(name),
  print: ({ name }) => `Revoked ${name}.`,
  changes: ({ prefix }) => ({ prefix }),
  target: ({ name }) => name,
})

function readScopes(option: string | boolean | undefined): Scope[] {
  const unknown = parseListOption(option).find((part) => !SCOPES.some((scope) => scope === part))
  if (option !== undefined && unknown === undefined) return parseListOption(option) as Scope[]
  throw new UsageError(`--scope takes one or more of ${SCOPES.join(', ')}.`)
}

function readDays(option: string | boolean | undefined): number | null {
  if (option === undefined) return null
  const [, days] = /^([1-9]\d{0,3})d$/.exec(String(option)) ?? []
  if (days === undefined) throw new UsageError('--expires takes a number of days such as 90d.')
  return Number(days) * DAY_MS
}

function readRate(option: string | boolean | undefined): number | null {
  if (option === undefined) return null
  return parseLimitOption(String(option), '--requests-per-minute')
}

export const apiKeyCommands = [create, list, revoke]
