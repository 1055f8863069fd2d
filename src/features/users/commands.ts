import { chargedAmong, type DeleteAccount } from '../../lib/active-subscriptions.ts'
import { dataCommand, parseLimitOption, prettyJson, toFlag, UsageError } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import { asLocale } from '../../lib/text/locale.ts'
import type { Page } from './accounts/directory.ts'
import type { FindUsers } from './accounts/find-users.ts'
import { FILTERS, type FilterTexts, readFilter } from './accounts/user-filter.ts'
import { userImport } from './import/command.ts'
import type { Profile } from './profile/service.ts'
import type { Users } from './users.ts'

type Needs = {
  users: Users
  profile: Profile
  findUsers: FindUsers
  now: () => Date
  exportData: (userId: string) => Promise<Record<string, unknown>>
  deleteAccount: DeleteAccount
}

type ListInput = { page: Page; filter: FilterTexts }

const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[]

const USER = '<id-or-email>'
const readUserArgument = ([user = '']: string[]) => user

const userList = dataCommand({
  name: 'user list',
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
  name: 'user show',
  summary: 'Show an account: profile, linked providers, passkeys, devices, notes',
  arguments: USER,
  input: readUserArgument,
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

const userCreate = dataCommand({
  name: 'user create',
  summary: 'Create an account and print its password',
  arguments: '<email>',
  options: [
    ['--name <name>', 'the user’s name'],
    ['--password-stdin', 'read the password from standard input'],
  ],
  input: async ([email = ''], { name, passwordStdin }) => ({
    email,
    name: typeof name === 'string' ? name : '',
    password: passwordStdin ? await readPassword() : crypto.randomUUID(),
    isGenerated: !passwordStdin,
  }),
  work: async ({ users }: Needs, { isGenerated, ...login }) => {
    const defaults = { locale: 'en', timezone: 'utc', emailVerified: false }
    const { id, email } = await users.passwordLogin
      .create({ ...login, ...defaults })
      .catch(rethrowForOperator)
    return { id, email, ...(isGenerated ? { password: login.password } : {}) }
  },
  print: ({ id, email, password }) =>
    `Created ${email} (${id})${password === undefined ? '' : `, password ${password}`}.`,
  changes: ({ id }) => ({ userId: id }),
  target: ({ id }) => id,
})

/** The default message addresses the owner of the e-mail address. */
function rethrowForOperator(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== 'email_taken') throw error
  throw new AppError(
    error.code,
    'An account with this e-mail address already exists: see "homeport user show <email>".',
  )
}

const userInvite = dataCommand({
  name: 'user invite',
  summary: 'Invite someone to create an account, with SIGN_UP=invite',
  arguments: '<email>',
  options: [['--locale <locale>', 'language of the e-mail (default: en)']],
  input: ([email = ''], { locale }) => ({
    email,
    locale: asLocale(typeof locale === 'string' ? locale : '') ?? 'en',
  }),
  work: async ({ users }: Needs, { email, locale }) => {
    await users.signUp.invite(email, locale).catch(rethrowForOperator)
    return { invited: email }
  },
  print: ({ invited }) => `The invitation to ${invited} is on its way. It works for 7 days.`,
  // Not the address, which the logs must not contain.
  changes: () => ({}),
})

const userVerify = dataCommand({
  name: 'user verify',
  summary: 'Mark an e-mail address as verified, as if the link had been opened',
  arguments: USER,
  input: readUserArgument,
  work: async ({ users }: Needs, user: string) => {
    const account = await users.directory.find(user)
    await users.directory.setEmailVerified(account, true)
    return { verified: account.id, email: account.email }
  },
  print: ({ verified, email }) => `The address ${email} of ${verified} is verified.`,
  changes: ({ verified }) => ({ userId: verified }),
  target: ({ verified }) => verified,
})

const userSendVerification = dataCommand({
  name: 'user send-verification',
  summary: 'Send the verification e-mail again',
  arguments: USER,
  input: readUserArgument,
  work: async ({ users }: Needs, user: string) => {
    const { id, email } = await users.directory.find(user)
    await users.addresses.resend(id, null)
    return { sent: id, email }
  },
  print: ({ email }) => `The e-mail to ${email} is on its way.`,
  changes: ({ sent }) => ({ userId: sent }),
  target: ({ sent }) => sent,
})

const userNote = dataCommand({
  name: 'user note',
  summary: 'Add a note to a user, for other operators',
  arguments: `${USER} <text>`,
  input: ([user = '', text = '']) => ({ user, text }),
  work: async ({ users }: Needs, { user, text }) => {
    const { id } = await users.directory.find(user)
    return { userId: id, note: await users.notes.add(id, text, null) }
  },
  print: ({ userId }) => `Added a note to ${userId}.`,
  changes: ({ note }) => ({ note }),
  target: ({ userId }) => userId,
})

const userSignOut = dataCommand({
  name: 'user sign-out',
  summary: 'End all sessions of a user and revoke the links in e-mails',
  arguments: USER,
  options: [['--session <id>', 'only this session; "user show" lists them']],
  input: ([user = ''], { session }) => ({
    user,
    session: typeof session === 'string' ? session : null,
  }),
  risk: async ({ users }: Needs, { user, session }) => {
    const { id, email } = await users.directory.find(user)
    if (session !== null) return null
    return `This ends all sessions of ${email ?? id} and revokes the links in e-mails.`
  },
  work: async ({ users }: Needs, { user, session }) => {
    const { id } = await users.directory.find(user)
    const { length } = await users.devices.list(id, '')
    if (session === null) await users.accountSecurity.signOut(id)
    else await users.devices.end(id, session)
    return { signedOut: id, sessions: session === null ? length : 1 }
  },
  print: ({ signedOut, sessions }) =>
    `Ended ${sessions} ${sessions === 1 ? 'session' : 'sessions'} of ${signedOut}.`,
  changes: ({ signedOut, sessions }) => ({ userId: signedOut, sessions }),
  target: ({ signedOut }) => signedOut,
})

const userResetTwoFactor = dataCommand({
  name: 'user reset-two-factor',
  summary: 'Turn two-factor off for a user who lost their device, and end all sessions',
  arguments: USER,
  input: readUserArgument,
  risk: async ({ users }: Needs, user: string) => {
    const { id, email } = await users.directory.find(user)
    return `This turns two-factor off for ${email ?? id}. Confirm that the user requested this.`
  },
  work: async ({ users }: Needs, user: string) => {
    const { id } = await users.directory.find(user)
    await users.twoFactor.reset(id)
    return { reset: id }
  },
  print: ({ reset }) => `Two-factor is off for ${reset}.`,
  changes: ({ reset }) => ({ userId: reset }),
  target: ({ reset }) => reset,
})

const userExport = dataCommand({
  name: 'user export',
  summary: 'Print all data about a user as JSON',
  arguments: USER,
  input: readUserArgument,
  work: async ({ users, exportData }: Needs, user: string) =>
    exportData((await users.directory.find(user)).id),
  print: prettyJson,
  changes: () => ({}),
  target: ({ user }) => (user as { _id: string })._id,
})

const userDelete = dataCommand({
  name: 'user delete',
  summary: 'Delete an account with its profile, files and sessions',
  arguments: USER,
  input: readUserArgument,
  risk: async ({ users }: Needs, user: string) => {
    const { id, email } = await users.directory.find(user)
    return `This permanently deletes ${email ?? 'the user'} (${id}) with profile, files and sessions.`
  },
  work: async ({ users, deleteAccount }: Needs, user: string) => {
    const { id } = await users.directory.find(user)
    return { deleted: id, activeSubscriptions: await deleteAccount(id) }
  },
  print: ({ deleted, activeSubscriptions }) =>
    `Deleted ${deleted}.${chargedAmong(activeSubscriptions).length > 0 ? ' The store goes on charging for a subscription until the user cancels it.' : ''}`,
  changes: ({ deleted }) => ({ userId: deleted }),
  target: ({ deleted }) => deleted,
})

async function readPassword(): Promise<string> {
  const [line = ''] = (await Bun.stdin.text()).split(/\r?\n/)
  if (line === '') throw new UsageError('There is no password on standard input.')
  return line
}

export const userCommands = [
  userList,
  userShow,
  userCreate,
  userInvite,
  userImport,
  userVerify,
  userSendVerification,
  userNote,
  userSignOut,
  userResetTwoFactor,
  userExport,
  userDelete,
]
