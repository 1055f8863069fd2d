import { t } from 'elysia'
import { ROLES } from '../../lib/roles.ts'
import { PasskeyAssertion, PasskeyAttestation } from '../../platform/http/passkey-models.ts'
import { closedObject, literalUnion } from '../../platform/http/replies/envelope.ts'
import { after } from '../../platform/lists/list.ts'
import { AUDIT_ORDERS } from './audit.ts'

const text = (maxLength: number) => t.String({ maxLength })

export const Token = closedObject({ token: text(100) })
export const NamedOperator = closedObject({ name: text(64) })
export const NewOperator = closedObject({
  name: text(64),
  role: literalUnion(ROLES, {
    description: 'the role of the operator',
    field: {
      hint: 'Readers view everything, operators also make changes, and owners also manage operators.',
    },
  }),
})

export const SetUp = t.Union([
  closedObject({ token: text(100), passkey: PasskeyAttestation, passkeyName: text(100) }),
  closedObject({ token: text(100), password: text(256), code: text(40), sealed: text(1_000) }),
])
export const SignIn = t.Union([
  closedObject({ passkey: PasskeyAssertion }),
  closedObject({ name: text(64), password: text(256), code: text(40) }),
])
export const Proof = t.Union([
  closedObject({ passkey: PasskeyAssertion }),
  closedObject({ code: text(40) }),
])
export const AddPasskey = closedObject({ passkey: PasskeyAttestation, passkeyName: text(100) })
export const IdParam = closedObject({ id: text(200) })
/** A credential id of up to 1,023 bytes, in base64url. */
export const PasskeyParam = closedObject({ id: text(2_000) })
export const AuditQuery = closedObject({
  action: t.Optional(
    t.String({ maxLength: 100, description: 'only this action, such as settings.set' }),
  ),
  operator: t.Optional(
    t.String({ maxLength: 64, description: 'only actions of this operator', placeholder: 'name' }),
  ),
  target: t.Optional(t.String({ maxLength: 300, description: 'only actions on this id or name' })),
  since: t.Optional(
    t.String({ format: 'date-time', description: 'only entries from this time on' }),
  ),
  until: t.Optional(
    t.String({ format: 'date-time', description: 'only entries before this time' }),
  ),
  sort: t.Optional(literalUnion(AUDIT_ORDERS, { description: 'by time' })),
  after,
})

/** The filter in a query of the audit log. */
export function toAuditFilter<Query extends typeof AuditQuery.static>({
  since,
  until,
  ...rest
}: Query) {
  return { ...rest, since: parseDate(since), until: parseDate(until) }
}

function parseDate(time: string | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time)
}
