import { dataCommand, parseLimitOption, prettyJson, toFlag } from '../../lib/command.ts'
import type { Page } from './accounts/directory.ts'
import type { FindUsers } from './accounts/find-users.ts'
import { FILTERS, type FilterTexts, readFilter } from './accounts/user-filter.ts'
import type { Profile } from './profile/service.ts'
import type { Users } from './users.ts'

type Needs = {
  users: Users
  profile: Profile
  findUsers: FindUsers
  now: () => Date
}

type ListInput = { page: Page; filter: FilterTexts }

const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[]

const userList = dataCommand({
  name: 'users list',
  summary: 'List users, newest first, or those whose address starts with the prefix',
  arguments: '[email-prefix]',
  options: [
    ['--after <cursor>', 'continue after this cursor from the previous output'],
    ['--limit <count>', 'maximum number of results (default: 50)'],
    ...FILTER_NAMES.map((name): [string, string] => [`${toFlag(name)} <value>`, FILTERS[name]]),
  ],
  input: ([emailPrefix], { after, limit, ...options }) => {
    const texts = FILTER_NAMES.flatMap((name) => {
      const text = options[name]
      return typeof text === 'string' ? [[name, text]] : []
    })
    return {
      page: {
        ...(emailPrefix === undefined ? {} : { emailPrefix }),
        ...(typeof after === 'string' ? { after } : {}),
        ...(typeof limit === 'string' ? { limit: parseLimitOption(limit) } : {}),
      },
      filter: Object.fromEntries(texts) as FilterTexts,
    }
  },
  work: async ({ users, findUsers, now }: Needs, { page, filter }: ListInput) => {
    const { emailPrefix, ...rest } = page
    if (Object.keys(filter).length === 0) return users.directory.list(page)
    return findUsers(emailPrefix ?? '', { ...rest, filter: readFilter(filter, now()) })
  },
  print: ({ users, next }) =>
    [
      ...users.map(({ id, email, loginType, emailVerified, createdAt }) => {
        const state = email === '' ? '' : emailVerified ? 'verified' : 'unverified'
        return [id, createdAt, loginType, email || '-', state].join('\t').trimEnd()
      }),
      ...(next === null ? [] : [`More: --after ${next}`]),
    ].join('\n'),
})

const userShow = dataCommand({
  name: 'users show',
  summary: 'Show an account: profile, linked providers, passkeys, devices, notes',
  arguments: '<id-or-email>',
  input: ([user = '']) => user,
  work: async ({ users, profile }: Needs, user: string) => {
    const { id } = await users.directory.find(user)
    return {
      user: await profile.read(id, ''),
      account: await users.accounts.describe(id),
      identities: await users.identities.list(id),
      passkeys: await users.passkeys.list(id),
      sessions: await users.devices.list(id, ''),
      notes: await users.notes.list(id),
    }
  },
  print: prettyJson,
})

export const userCommands = [userList, userShow]
