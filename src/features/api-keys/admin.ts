import { Elysia } from 'elysia'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { ConsoleContext } from '../../platform/feature.ts'
import { json } from '../../platform/http/body/body.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import { KeyId, NewApiKey } from './model.ts'
import type { ApiKeys } from './service.ts'

type ApiKeysAdminDeps = { apiKeys: ApiKeys } & Pick<ConsoleContext, 'record' | 'exportCsv'>

/** Creates, lists and revokes API keys. */
export function apiKeysAdmin({ apiKeys, record, exportCsv }: ApiKeysAdminDeps) {
  return new Elysia({ name: 'api-keys-admin', prefix: `${CONSOLE_API}/api-keys` })
    .get('', async () => data(await apiKeys.list()), allow('reader'))
    .get(
      '/export.csv',
      (context) =>
        exportCsv(context, { name: 'api-keys', columns: KEY_COLUMNS, read: () => apiKeys.list() }),
      allow('reader'),
    )
    .post(
      '',
      async ({ request, body }) => {
        const { expiresInDays, ...wanted } = body
        const expiresInMs = expiresInDays === null ? null : expiresInDays * DAY_MS
        const created = await apiKeys.create({ ...wanted, expiresInMs })
        const { name, prefix, scopes, networks, expiresAt } = created
        const after = { prefix, scopes, networks, expiresAt }
        await record(request, { action: 'api-keys.create', target: name, after })
        return data(created)
      },
      { ...json(NewApiKey), ...allow('owner', 'stepUp') },
    )
    .post(
      '/revoke',
      async ({ request, body }) => {
        const { name, prefix } = await apiKeys.revoke(body.id)
        await record(request, { action: 'api-keys.revoke', target: name, before: { prefix } })
        return data(null)
      },
      { ...json(KeyId), ...allow('owner', 'stepUp') },
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
