import { t } from 'elysia'
import { ROLES } from '../../lib/roles.ts'
import { PasskeyAssertion, PasskeyAttestation } from '../../platform/http/passkey-models.ts'
import { closedObject, oneOf } from '../../platform/http/replies/envelope.ts'
import { AUDIT_ORDERS } from './audit.ts'

const text = (maxLength: number) => t.String({ maxLength })
const time = t.String({ format: 'date-time' })

export const Token = closedObject({ token: text(100) })
export const NamedOperator = closedObject({ name: text(64) })
export const NewOperator = closedObject({
  name: text(64),
  role: oneOf(ROLES, { description: 'the role of the operator' }),
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
  sort: t.Optional(oneOf(AUDIT_ORDERS, { description: 'by time' })),
  action: t.Optional(text(100)),
  operator: t.Optional(text(64)),
  target: t.Optional(text(300)),
  since: t.Optional(time),
  until: t.Optional(time),
  after: t.Optional(text(40)),
})

/** The filter in a query of the audit log. */
export function toAuditFilter({ since, until, ...rest }: typeof AuditQuery.static) {
  return { ...rest, since: dateOf(since), until: dateOf(until) }
}

function dateOf(time: string | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time)
}
