import {
  dataCommand,
  type Options,
  parseLimitOption,
  parseTimeOption,
  UsageError,
} from '../../../lib/command.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Timeline } from '../access/timeline.ts'
import type { Grant, Grants } from './grants.ts'

type Needs = {
  grants: Grants
  timeline: Pick<Timeline, 'explain'>
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
}

/** `until`: ISO 8601; null: without an end. */
type Wanted = { user: string; entitlementId: string; until: string | null; reason: string }

const REASON_OPTION: [string, string] = [
  '--reason <text>',
  'why, for the user’s history (required)',
]

const accessGrant = dataCommand({
  name: 'access grant',
  summary: 'Give a user an entitlement without a purchase',
  arguments: '<id-or-email> <entitlement>',
  options: [
    ['--until <time>', 'until a time, ISO 8601'],
    ['--days <count>', 'for a number of days'],
    ['--forever', 'without an end'],
    REASON_OPTION,
  ],
  input: ([user = '', entitlementId = ''], options): Wanted => ({
    user,
    entitlementId,
    until: readEnd(options),
    reason: readReason(options),
  }),
  work: async ({ grants, timeline, userIdOf }: Needs, wanted: Wanted, { user: by }) => {
    const { user, entitlementId, until, reason } = wanted
    const userId = (await userIdOf(user)) ?? user
    const grant = await grants.give({
      userId,
      entitlementId,
      until,
      by,
      reason,
    })
    return { userId, grant, access: await timeline.explain(userId, 'production') }
  },
  print: ({ grant, access }) => `${grant.id}\n${access}`,
  changes: ({ grant: { id, entitlementId, endsAt } }) => ({ grant: id, entitlementId, endsAt }),
  target: ({ userId }) => userId,
})

const accessRevoke = dataCommand({
  name: 'access revoke',
  summary: 'End access that was granted without a purchase',
  arguments: '<id-or-email> <grant>',
  options: [REASON_OPTION],
  input: ([user = '', id = ''], options) => ({ user, id, reason: readReason(options) }),
  work: async (
    { grants, timeline, userIdOf }: Needs,
    { user, id, reason }: { user: string; id: string; reason: string },
    { user: by },
  ) => {
    const userId = (await userIdOf(user)) ?? user
    const grant = await grants.revoke(userId, id, { by, reason })
    return { userId, grant, access: await timeline.explain(userId, 'production') }
  },
  print: ({ access }) => access,
  changes: ({ grant: { id, entitlementId } }) => ({ grant: id, entitlementId }),
  target: ({ userId }) => userId,
})

const accessList = dataCommand({
  name: 'access list',
  summary: 'List the access that a user was granted without a purchase, newest first',
  arguments: '<id-or-email>',
  input: ([user = '']) => user,
  work: async ({ grants, userIdOf }: Needs, user: string) =>
    grants.list((await userIdOf(user)) ?? user),
  print: (grants) => grants.map(formatGrant).join('\n'),
})

function formatGrant(grant: Grant): string {
  const { id, entitlementId, active, endsAt, grantedBy, reason } = grant
  const state = active ? 'active' : 'ended'
  return [id, entitlementId, state, endsAt ?? 'never', grantedBy, reason].join('\t')
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

function readReason({ reason }: Options): string {
  if (typeof reason !== 'string') throw new UsageError('Specify --reason.')
  return reason
}

export const grantCommands = [accessGrant, accessRevoke, accessList]
