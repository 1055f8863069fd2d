import { Elysia } from 'elysia'
import type { ConsoleContext } from '../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import type { ApiKeys } from './service.ts'

type ApiKeysAdminDeps = { apiKeys: ApiKeys } & Pick<ConsoleContext, 'exportCsv'>

/** Lists the API keys. */
export function apiKeysAdmin({ apiKeys, exportCsv }: ApiKeysAdminDeps) {
  return new Elysia({ name: 'api-keys-admin', prefix: `${CONSOLE_API}/api-keys` })
    .get('', async () => data(await apiKeys.list()), allow('reader'))
    .get(
      '/export.csv',
      (context) =>
        exportCsv(context, { name: 'api-keys', columns: KEY_COLUMNS, read: () => apiKeys.list() }),
      allow('reader'),
    )
}

type ListedKey = Awaited<ReturnType<ApiKeys['list']>>[number]

/** The columns of an exported list. */
const KEY_COLUMNS: Record<string, (key: ListedKey) => unknown> = {
  name: ({ name }) => name,
  prefix: ({ prefix }) => prefix,
  status: ({ status }) => status,
  scopes: ({ scopes }) => scopes.join(' '),
  networks: ({ networks }) => networks.join(' '),
  requests_per_minute: ({ requestsPerMinute }) => requestsPerMinute,
  last_used: ({ lastUsedAt }) => lastUsedAt,
  expires: ({ expiresAt }) => expiresAt,
}
