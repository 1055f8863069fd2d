import { parseLimitOption, parseListOption, UsageError } from '../../lib/command.ts'
import { SCOPES, type Scope } from '../../lib/scopes.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { KeyId, NewApiKey } from './model.ts'
import type { ApiKeys } from './service.ts'

type Needs = { apiKeys: ApiKeys }

const create = defineAction({
  name: 'api-keys.create',
  summary: 'Create a key for the server API and print it once',
  label: 'Created API key',
  role: 'owner',
  proof: 'stepUp',
  input: NewApiKey,
  console: 'api-keys',
  form: { verb: 'Create key' },
  work: ({ apiKeys }: Needs, { expiresInDays, ...wanted }) =>
    apiKeys.create({
      ...wanted,
      expiresInMs: expiresInDays === null ? null : expiresInDays * DAY_MS,
    }),
  audit: ({ name, prefix, scopes, networks, expiresAt }) => ({
    target: name,
    after: { prefix, scopes, networks, expiresAt },
  }),
  command: {
    arguments: { name: '<name>' },
    options: [
      [
        '--scope <scopes>',
        `what the key may do, separated by commas: ${SCOPES.join(', ')}`,
        'list',
      ],
      ['--expires <days>', 'when it expires, such as 90d (default: never)'],
      [
        '--network <networks>',
        'the only IP addresses or networks that may use it, such as 10.0.0.0/8',
        'list',
      ],
      ['--requests-per-minute <count>', 'refuse more requests in a minute (default: no limit)'],
    ],
    read: ([name = ''], { scope, network, expires, requestsPerMinute }) => ({
      name,
      scopes: readScopes(scope),
      networks: parseListOption(network),
      expiresInDays: readDays(expires),
      requestsPerMinute:
        requestsPerMinute === undefined
          ? null
          : parseLimitOption(String(requestsPerMinute), '--requests-per-minute'),
    }),
    print: ({ name, secret, scopes }) =>
      `Created ${name} (${scopes.join(', ')}). Copy the key now. It is not shown again.\n${secret}`,
  },
})

const revoke = defineAction({
  name: 'api-keys.revoke',
  summary: 'Revoke an API key immediately',
  label: 'Revoked API key',
  role: 'owner',
  proof: 'stepUp',
  input: KeyId,
  console: 'api-keys/revoke',
  form: {
    verb: 'Revoke',
    consequence: 'Requests with this key will fail immediately.',
    done: 'Revoked',
  },
  work: ({ apiKeys }: Needs, { id }) => apiKeys.revoke(id),
  audit: ({ name, prefix }) => ({ target: name, before: { prefix } }),
  command: {
    arguments: { id: '<name>' },
    risk: async (_needs, { id }) => `Requests with the key ${id} will fail immediately.`,
    print: ({ name }) => `Revoked ${name}.`,
  },
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
  return Number(days)
}

export const apiKeyActions = [create, revoke]
