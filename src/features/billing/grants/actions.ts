import { t } from 'elysia'
import {
  type Options,
  parseLimitOption,
  parseTimeOption,
  UsageError,
} from '../../../lib/command.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { type ActionContext, defineAction } from '../../../platform/actions/action.ts'
import { readInput } from '../../../platform/actions/command-line.ts'
import { UserParams } from '../../../platform/http/api-key-guard.ts'
import { closedObject } from '../../../platform/http/replies/envelope.ts'
import type { Timeline } from '../access/timeline.ts'
import type { Grants } from './grants.ts'
import { type Grant, GrantParams, GrantReply, NewGrantBody, RevokeQuery } from './model.ts'

type Needs = {
  grants: Grants
  timeline: Pick<Timeline, 'explain'>
  findIdByEmail: (email: string) => Promise<string | null>
}

const PATH = '/users/v1/:id/grants'
const route = { scope: 'subscriptions:write', tag: 'Subscriptions', reply: GrantReply } as const
const User = { id: t.String({ maxLength: 320 }) }
const NewGrant = closedObject({ ...User, ...NewGrantBody.properties })
/** The input that the command reads by the schema; `readEnd` reads the rest. */
const CommandInput = t.Omit(NewGrant, ['until', 'idempotencyKey'])
const Revocation = closedObject({
  ...User,
  grantId: GrantParams.properties.grantId,
  reason: NewGrantBody.properties.reason,
})

const grantAccess = defineAction({
  name: 'access.grant',
  summary: 'Give a user an entitlement without a purchase',
  label: 'Granted access to',
  role: 'operator',
  proof: 'stepUp',
  input: NewGrant,
  console: 'people/:id/grants',
  form: {
    verb: 'Grant access',
    consequence: 'The user gets the entitlement immediately. A more expensive plan is kept.',
    done: 'Access granted',
    isReversible: true,
  },
  server: {
    ...route,
    method: 'post',
    path: PATH,
    params: UserParams,
    body: NewGrantBody,
    operationId: 'grantAccess',
    description:
      'It counts like a purchase, but never replaces a more expensive plan. Takes effect immediately.',
    failures: [404, 409, 422, 507],
  },
  work: async (needs: Needs, { id, ...access }, { caller }) => {
    const userId = await findUserId(needs, id, caller)
    return { userId, grant: await needs.grants.create({ ...access, userId, by: caller.name }) }
  },
  audit: ({ userId, grant: { id, entitlementId, endsAt } }) => ({
    target: userId,
    after: { grant: id, entitlementId, endsAt },
  }),
  show: ({ grant }) => grant,
  command: {
    arguments: { id: '<id-or-email>', entitlementId: '<entitlement>' },
    options: [
      ['--until <time>', 'until a time, or through a day, ISO 8601'],
      ['--days <count>', 'for a number of days'],
      ['--forever', 'without an end'],
      ['--reason <text>', 'the reason; the user sees it in the data export (required)'],
    ],
    read: (args, options) => ({
      until: readEnd(options),
      ...readInput(CommandInput, ['id', 'entitlementId'], args, options),
    }),
    report: explainAccess,
    print: ({ grant, access }) => `${grant.id}\n${access}`,
  },
})

const revokeAccess = defineAction({
  name: 'access.revoke',
  summary: 'End access that was granted without a purchase',
  label: 'Revoked access of',
  role: 'operator',
  proof: 'stepUp',
  input: Revocation,
  console: 'people/:id/grants/:grantId/revoke',
  form: {
    verb: 'Revoke access',
    consequence:
      'The user loses the entitlement immediately, unless a purchase or another grant gives it too.',
    done: 'Access revoked',
  },
  server: {
    ...route,
    method: 'delete',
    path: `${PATH}/:grantId`,
    params: GrantParams,
    query: RevokeQuery,
    operationId: 'revokeAccess',
    summary: 'Revoke access that was granted',
    description: 'Ends the access immediately. Does nothing if it has already ended.',
    failures: [404, 422, 507],
    read: (sent) => ({ reason: 'revoked by a server', ...sent }) as typeof Revocation.static,
  },
  work: async (needs: Needs, { id, grantId, reason }, { caller }) => {
    const userId = await findUserId(needs, id, caller)
    return {
      userId,
      grant: await needs.grants.revoke(userId, grantId, { by: caller.name, reason }),
    }
  },
  audit: ({ userId, grant: { id, entitlementId } }) => ({
    target: userId,
    after: { grant: id, entitlementId },
  }),
  show: ({ grant }) => grant,
  command: {
    arguments: { id: '<id-or-email>', grantId: '<grant>' },
    report: explainAccess,
    print: ({ access }) => access,
  },
})

/** Commands also accept the user's e-mail address. */
async function findUserId({ findIdByEmail }: Needs, id: string, { via }: ActionContext['caller']) {
  return (via === 'command' ? await findIdByEmail(id) : null) ?? id
}

async function explainAccess(
  outcome: { userId: string; grant: Grant },
  { timeline }: Pick<Needs, 'timeline'>,
) {
  return { ...outcome, access: await timeline.explain(outcome.userId, 'production') }
}

/** The end of the access: exactly one of the options must be given. */
function readEnd({ until, days, forever }: Options): string | null {
  if ([until, days, forever].filter((option) => option !== undefined).length !== 1)
    throw new UsageError('Specify one of --until, --days and --forever.')
  if (forever) return null
  const time =
    typeof days === 'string'
      ? new Date(Date.now() + parseLimitOption(days, '--days') * DAY_MS)
      : parseTimeOption(String(until), '--until')
  return time.toISOString()
}

export const grantActions = [grantAccess, revokeAccess]
