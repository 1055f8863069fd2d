import { t } from 'elysia'
import { SCOPES } from '../../lib/scopes.ts'
import {
  closedObject,
  integer,
  literalUnion,
  nullable,
} from '../../platform/http/replies/envelope.ts'

const text = (maxLength: number) => t.String({ maxLength })

export const NewApiKey = closedObject({
  name: text(200),
  scopes: t.Array(literalUnion(SCOPES, { description: 'what the key may do' }), { maxItems: 20 }),
  networks: t.Array(text(50), { maxItems: 50 }),
  expiresInDays: nullable(integer({ minimum: 1, maximum: 3_650 })),
  requestsPerMinute: nullable(integer({ minimum: 1, maximum: 10_000_000 })),
})

export const KeyId = closedObject({ id: text(100) })
