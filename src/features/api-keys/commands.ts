import { dataCommand } from '../../lib/command.ts'
import type { ApiKeys } from './service.ts'

type Needs = { apiKeys: ApiKeys }

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

export const apiKeyCommands = [list]
