import { t } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import { after, defineList } from '../../platform/lists/list.ts'
import type { AccountSummary, ListedUser } from './accounts/directory.ts'
import type { FindUsers } from './accounts/find-users.ts'
import { FILTERS, readFilter } from './accounts/user-filter.ts'
import type { Users } from './users.ts'

type Needs = { users: Users; findUsers: FindUsers; now: () => Date }

const filterText = (description: string) =>
  t.Optional(t.String({ maxLength: 100, description, placeholder: 'value' }))
const filters = Object.entries(FILTERS).map(([name, meaning]) => [name, filterText(meaning)])

/** Commands without a filter, which list up to a million users, do not read the status and plan. */
type Listed = Pick<ListedUser, keyof AccountSummary> & Partial<ListedUser>

const people = defineList({
  name: 'people',
  summary: 'List users, newest first, or those whose e-mail address starts with the prefix',
  console: 'people',
  query: closedObject({
    q: t.Optional(t.String({ maxLength: 300 })),
    after,
    ...(Object.fromEntries(filters) as {
      [name in keyof typeof FILTERS]: ReturnType<typeof filterText>
    }),
  }),
  isPersonal: true,
  async read(
    { users, findUsers, now }: Needs,
    { q, after, limit, ...texts },
    { reader },
  ): Promise<{ users: Listed[]; next: string | null }> {
    if (reader === 'command' && Object.keys(texts).length === 0)
      return users.directory.list({ emailPrefix: q, after, limit })
    const found = await findUsers(q ?? '', { after, limit, filter: readFilter(texts, now()) })
    if (reader === 'file' && found.hasMoreNames) throw tooManyFound()
    return found
  },
  rows: ({ users }) => users,
  columns: {
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
  },
  command: {
    words: 'users list',
    arguments: { q: '[email-prefix]' },
    line: ({ id, email, loginType, emailVerified, createdAt }) => {
      const state = email === '' ? '' : emailVerified ? 'verified' : 'unverified'
      return [id, createdAt, loginType, email || '-', state]
    },
  },
})

const sessions = defineList({
  name: 'sessions',
  summary: 'List the sessions of a user',
  console: 'people/:id/sessions',
  query: closedObject({ id: t.String({ maxLength: 100 }) }),
  isPersonal: true,
  read: ({ users }: Needs, { id }) => users.devices.list(id, ''),
  rows: (sessions) => sessions,
  isPart: true,
  columns: {
    device: ({ device }) => device,
    last_used: ({ lastUsedAt }) => lastUsedAt,
    signed_in: ({ createdAt }) => createdAt,
  },
  command: null,
})

function tooManyFound(): AppError {
  return new AppError(
    'validation_failed',
    'More users match than a search lists. Enter more of the name or the id.',
  )
}

export const userLists = [people, sessions]
