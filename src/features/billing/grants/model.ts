import { type Static, t } from 'elysia'
import { UserParams } from '../../../platform/http/api-key-guard.ts'
import {
  closedObject,
  createDataSchema,
  flag,
  nullable,
  text,
  time,
} from '../../../platform/http/replies/envelope.ts'
import { MAX_REASON_LENGTH, REASON_FIELD } from '../inbox/attribution.ts'

const GRANT_ID = '01a1fecb-4164-71d5-9e2b-0a7d1c5b9f33'
const entitlementId = text('the entitlement, as your app checks it', 'pro', { maxLength: 100 })
const reason = t.String({
  minLength: 1,
  maxLength: MAX_REASON_LENGTH,
  description: 'the reason; the user sees it in the data export',
  examples: ['beta tester'],
  field: REASON_FIELD,
})
const active = flag('whether it gives access now')

const IdempotencyKey = t.String({
  pattern: '^[\\x21-\\x7e]{1,100}$',
  error: 'must be 1 to 100 printable characters without spaces',
  description: 'a retry with the same key gives access once',
  examples: ['5f0c6d3e'],
})

export const NewGrantBody = closedObject({
  entitlementId,
  until: nullable(time('when access ends; null: never')),
  reason,
  idempotencyKey: t.Optional(IdempotencyKey),
})

export const GrantParams = closedObject({
  ...UserParams.properties,
  grantId: text('the `id` of the grant', GRANT_ID, { maxLength: 100 }),
})

export const RevokeQuery = closedObject({ reason: t.Optional(reason) })

export type Grant = Static<typeof Grant>
const Grant = closedObject(
  {
    id: text('the id of the grant', GRANT_ID),
    entitlementId,
    active,
    startsAt: time('when access began'),
    endsAt: nullable(time('when access ends; null: never')),
    grantedBy: text('the operator or the API key', 'API key shop'),
    reason: text('why it was granted', 'beta tester'),
    revokedBy: nullable(text('the operator or API key that revoked it; null: not revoked', 'ann')),
  },
  'Grant',
  'access without a purchase',
)

export const GrantReply = createDataSchema(Grant)
export const GrantsReply = createDataSchema(t.Array(Grant, { description: 'the newest first' }))
