import { closedObject } from '../../platform/http/replies/envelope.ts'
import { defineList } from '../../platform/lists/list.ts'
import type { ApiKeys } from './service.ts'

const apiKeys = defineList({
  name: 'api-keys',
  summary: 'List the API keys',
  console: 'api-keys',
  query: closedObject({}),
  read: ({ apiKeys }: { apiKeys: ApiKeys }) => apiKeys.list(),
  rows: (keys) => keys,
  columns: {
    name: ({ name }) => name,
    prefix: ({ prefix }) => prefix,
    status: ({ status }) => status,
    scopes: ({ scopes }) => scopes.join(' '),
    networks: ({ networks }) => networks.join(' '),
    requests_per_minute: ({ requestsPerMinute }) => requestsPerMinute,
    last_used: ({ lastUsedAt }) => lastUsedAt,
    expires: ({ expiresAt }) => expiresAt,
  },
  command: {
    line: ({ name, prefix, status, scopes, networks, expiresAt, lastUsedAt }) => [
      name,
      `${prefix}…`,
      status,
      scopes.join(','),
      networks.join(',') || 'any network',
      expiresAt === null ? 'never expires' : `expires ${expiresAt}`,
      lastUsedAt === null ? 'never used' : `used ${lastUsedAt}`,
    ],
  },
})

export const apiKeyLists = [apiKeys]
