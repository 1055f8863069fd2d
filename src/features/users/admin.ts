import { Elysia, t } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import type { ConsoleContext } from '../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { readSlices } from '../../platform/lists/csv.ts'
import type { ListedUser } from './accounts/directory.ts'
import type { FindUsers } from './accounts/find-users.ts'
import { FILTERS, readFilter } from './accounts/user-filter.ts'
import type { Profile } from './profile/service.ts'
import type { Users } from './users.ts'

type UsersAdminDeps = {
  users: Users
  profile: Profile
  limits: Limits
  findUsers: FindUsers
  /** What a user has access to, and why. */
  accessOf: (userId: string) => Promise<unknown>
  now: () => Date
} & Pick<ConsoleContext, 'exportCsv'>

const IdParam = closedObject({ id: t.String({ maxLength: 100 }) })
const filterText = t.Optional(t.String({ maxLength: 100 }))
const SearchQuery = closedObject({
  q: t.Optional(t.String({ maxLength: 300 })),
  after: t.Optional(t.String({ maxLength: 400 })),
  ...(Object.fromEntries(Object.keys(FILTERS).map((name) => [name, filterText])) as {
    [name in keyof typeof FILTERS]: typeof filterText
  }),
})

/** Lets operators find users. */
export function userAdmin(deps: UsersAdminDeps) {
  const { users, profile, limits, findUsers, accessOf, exportCsv } = deps
  const { accounts, directory, devices, identities, twoFactor } = users
  return new Elysia({ name: 'people-admin', prefix: `${CONSOLE_API}/people` })
    .get(
      '',
      async ({ query: { q = '', after, ...texts } }) => {
        const filter = readFilter(texts, deps.now())
        return data(await findUsers(q, { after, filter }))
      },
      { query: SearchQuery, ...allow('reader') },
    )
    .get(
      '/export.csv',
      (context) => {
        const { q = '', after: _first, ...texts } = context.query
        const filter = readFilter(texts, deps.now())
        const read = readSlices('users', async (slice) => {
          const found = await findUsers(q, { ...slice, filter })
          if ('hasMoreNames' in found && found.hasMoreNames) throw tooManyNames()
          return found
        })
        return exportCsv(context, { name: 'people', isPersonal: true, columns: COLUMNS, read })
      },
      { query: SearchQuery, ...allow('operator', 'stepUp') },
    )
    .get(
      '/:id/sessions/export.csv',
      (context) => {
        const { id } = context.params
        const list = { name: 'sessions', isPersonal: true, columns: SESSION_COLUMNS, target: id }
        return exportCsv(context, { ...list, read: () => devices.list(id, '') })
      },
      { params: IdParam, ...allow('operator', 'stepUp') },
    )
    .get(
      '/:id',
      async ({ params: { id } }) => {
        const account = await directory.find(id)
        const applicable = [
          ...users.proof.limitsOf(account),
          ...users.emailCodes.limitsOf(account),
          ...twoFactor.limitsOf(account.id),
        ]
        const activeLimits = await limits.activeLimits(applicable)
        return data({
          user: await profile.read(account.id, ''),
          account: await accounts.describe(account.id),
          access: await accessOf(account.id),
          identities: await identities.list(account.id),
          passkeys: await users.passkeys.list(account.id),
          sessions: await devices.list(account.id, ''),
          notes: await users.notes.list(account.id),
          limits: activeLimits.map(({ name, until }) => ({ name, until: until.toISOString() })),
        })
      },
      { params: IdParam, ...allow('reader') },
    )
}

type Session = Awaited<ReturnType<Users['devices']['list']>>[number]

/** The columns of exported lists. */
const COLUMNS: Record<string, (user: ListedUser) => unknown> = {
  user_id: ({ id }) => id,
  email: ({ email }) => email,
  name: ({ name }) => name,
  sign_in: ({ loginType }) => loginType,
  email_verified: ({ emailVerified }) => emailVerified,
  registered: ({ createdAt }) => createdAt,
  last_seen: ({ lastSeenAt }) => lastSeenAt,
  status: ({ status }) => status,
  plan: ({ plan }) => plan,
  platform: ({ platform }) => platform,
  country: ({ country }) => country,
}
const SESSION_COLUMNS: Record<string, (session: Session) => unknown> = {
  device: ({ device }) => device,
  last_used: ({ lastUsedAt }) => lastUsedAt,
  signed_in: ({ createdAt }) => createdAt,
}

function tooManyNames(): AppError {
  return new AppError(
    'validation_failed',
    'More users have this name than a search lists. Add another word of the name.',
  )
}
