import { t } from 'elysia'
import { SCOPES, type Scope } from '../../lib/scopes.ts'
import { closedObject, integer, literalUnion } from '../../platform/http/replies/envelope.ts'

const MEANINGS: Record<Scope, string> = {
  'users:read': 'reads users and server data, and checks access tokens',
  'users:write': 'creates, changes, signs out and deletes users; writes server data',
  'subscriptions:read': 'reads what users have paid for',
  'subscriptions:write': 'grants and revokes access',
  'files:read': 'lists users’ files, with download URLs',
  'usage:read': 'reads what users have used',
  'usage:write': 'counts usage against limits',
  'webhooks:write': 'manages webhook endpoints',
}

const text = (maxLength: number) => t.String({ maxLength })
const limit = (maximum: number, field: { label?: string; placeholder: string }) =>
  t.Union([integer({ minimum: 1, maximum }), t.Null()], { field })

export const NewApiKey = closedObject({
  name: text(200),
  expiresInDays: limit(3_650, { label: 'Expires after (days)', placeholder: 'No expiry' }),
  requestsPerMinute: limit(10_000_000, { placeholder: 'No limit' }),
  networks: t.Array(text(50), {
    maxItems: 50,
    field: { hint: 'Such as 10.0.0.0/8; empty: all' },
  }),
  scopes: t.Array(literalUnion(SCOPES, { description: 'what the key may do' }), {
    maxItems: 20,
    field: { meanings: MEANINGS },
  }),
})

export const KeyId = closedObject({ id: text(100) })
