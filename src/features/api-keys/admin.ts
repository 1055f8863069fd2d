import { Elysia } from 'elysia'
import { DAY_MS } from '../../lib/durations.ts'
import { json } from '../../platform/http/body.ts'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/envelope.ts'
import { KeyId, NewApiKey } from './model.ts'
import type { ApiKeys } from './service.ts'

/** Creates, lists and revokes API keys. */
export function apiKeysAdmin({ apiKeys, record }: { apiKeys: ApiKeys; record: RecordAction }) {
  return new Elysia({ name: 'api-keys-admin', prefix: `${CONSOLE_API}/api-keys` })
    .get('', async () => data(await apiKeys.list()), allow('reader'))
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
