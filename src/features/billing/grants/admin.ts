import { Elysia, t } from 'elysia'
import { json } from '../../../platform/http/body/body.ts'
import {
  allow,
  CONSOLE_API,
  findOperator,
  type RecordAction,
} from '../../../platform/http/console-guard.ts'
import { closedObject, data, nullable } from '../../../platform/http/replies/envelope.ts'
import { MAX_REASON_LENGTH } from '../inbox/support.ts'
import type { Grants } from './grants.ts'
import { IdempotencyKey } from './model.ts'

type GrantsAdminDeps = { grants: Grants; record: RecordAction }

const UserParam = closedObject({ id: t.String({ maxLength: 100 }) })
const GrantParams = closedObject({ ...UserParam.properties, grant: t.String({ maxLength: 100 }) })
const ReasonBody = closedObject({ reason: t.String({ maxLength: MAX_REASON_LENGTH }) })
const GrantBody = closedObject({
  entitlementId: t.String({ maxLength: 100 }),
  until: nullable(t.String({ format: 'date-time', maxLength: 40 })),
  ...ReasonBody.properties,
  idempotencyKey: t.Optional(IdempotencyKey),
})

/** Console routes for access that operators give to a user without a purchase. */
export function grantsAdmin({ grants, record }: GrantsAdminDeps) {
  return new Elysia({ name: 'grants-admin', prefix: `${CONSOLE_API}/people` })
    .post(
      '/:id/grants',
      async ({ request, params: { id: userId }, body }) => {
        const by = findOperator(request).name
        const grant = await grants.give({ ...body, userId, by })
        const { id, entitlementId, endsAt } = grant
        const after = { grant: id, entitlementId, endsAt }
        await record(request, { action: 'access.grant', target: userId, after })
        return data(grant)
      },
      { params: UserParam, ...json(GrantBody), ...allow('operator', 'stepUp') },
    )
    .post(
      '/:id/grants/:grant/revoke',
      async ({ request, params: { id: userId, grant: id }, body: { reason } }) => {
        const grant = await grants.revoke(userId, id, { by: findOperator(request).name, reason })
        const after = { grant: id, entitlementId: grant.entitlementId }
        await record(request, { action: 'access.revoke', target: userId, after })
        return data(grant)
      },
      { params: GrantParams, ...json(ReasonBody), ...allow('operator', 'stepUp') },
    )
}
