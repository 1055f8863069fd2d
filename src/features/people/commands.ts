import { dataCommand, UsageError } from '../../lib/command.ts'
import { prettyJson } from '../../lib/json-file.ts'
import { readLimit } from '../../lib/read-limit.ts'
import type { Page } from './accounts/directory.ts'
import type { People } from './people.ts'
import type { Profile } from './profile/service.ts'

type Needs = {
  people: People
  profile: Profile
  deleteAccount: (userId: string) => Promise<void>
}

const USER = '<id-or-email>'
const firstOf = ([user = '']: string[]) => user

const userList = dataCommand({
  name: 'user list',
  summary: 'List people, the newest first, or those whose address begins so',
  arguments: '[email-prefix]',
  options: [
    ['--after <cursor>', 'the page after this one'],
    ['--limit <count>', 'at most this many (50)'],
  ],
  input: ([emailPrefix], { after, limit }) => ({
    ...(emailPrefix === undefined ? {} : { emailPrefix }),
    ...(typeof after === 'string' ? { after } : {}),
    ...(typeof limit === 'string' ? { limit: readLimit(limit) } : {}),
  }),
  work: ({ people }: Needs, page: Page) => people.directory.list(page),
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
  summary: 'Show an account: profile, linked providers, devices',
  arguments: USER,
  input: firstOf,
  work: async ({ people, profile }: Needs, user: string) => {
    const { id } = await people.directory.find(user)
    return {
      user: await profile.read(id, ''),
      account: await people.accounts.describe(id),
      identities: await people.identities.list(id),
      sessions: await people.devices.list(id, ''),
    }
  },
  print: prettyJson,
})

const userCreate = dataCommand({
  name: 'user create',
  summary: 'Make an account with an e-mail address and print its password',
  arguments: '<email>',
  options: [
    ['--name <name>', 'what the person is called'],
    ['--password-stdin', 'read the password from standard input'],
  ],
  input: async ([email = ''], { name, passwordStdin }) => ({
    email,
    name: typeof name === 'string' ? name : '',
    password: passwordStdin ? await readPassword() : crypto.randomUUID(),
    isGenerated: !passwordStdin,
  }),
  work: async ({ people }: Needs, { isGenerated, ...login }) => {
    const hints = { locale: 'en', timezone: 'utc' }
    const { id, email } = await people.passwordLogin.create({ ...login, ...hints })
    return { id, email, ...(isGenerated ? { password: login.password } : {}) }
  },
  print: ({ id, email, password }) =>
    `Made ${email} (${id})${password === undefined ? '' : `, password ${password}`}.`,
  changes: ({ id }) => ({ userId: id }),
  target: ({ id }) => id,
})

const userVerify = dataCommand({
  name: 'user verify',
  summary: 'Take an e-mail address for verified, as if its link had been opened',
  arguments: USER,
  input: firstOf,
  work: async ({ people }: Needs, user: string) => {
    const account = await people.directory.find(user)
    await people.directory.verifyEmail(account)
    return { verified: account.id, email: account.email }
  },
  print: ({ verified, email }) => `The address ${email} of ${verified} is verified.`,
  changes: ({ verified }) => ({ userId: verified }),
  target: ({ verified }) => verified,
})

const userSignOut = dataCommand({
  name: 'user sign-out',
  summary: 'End all sessions of a person, and every link in a mail',
  arguments: USER,
  input: firstOf,
  work: async ({ people }: Needs, user: string) => {
    const { id } = await people.directory.find(user)
    const { length } = await people.devices.list(id, '')
    await people.accountSecurity.signOut(id)
    return { signedOut: id, sessions: length }
  },
  print: ({ signedOut, sessions }) => `Ended ${sessions} sessions of ${signedOut}.`,
  changes: ({ signedOut }) => ({ userId: signedOut }),
  target: ({ signedOut }) => signedOut,
})

const userDelete = dataCommand({
  name: 'user delete',
  summary: 'Delete an account with its profile, files and sessions',
  arguments: USER,
  input: firstOf,
  risk: async ({ people }: Needs, user: string) => {
    const { id, email } = await people.directory.find(user)
    return `This deletes ${email ?? 'the guest'} (${id}) with profile, files and sessions, for good.`
  },
  work: async ({ people, deleteAccount }: Needs, user: string) => {
    const { id } = await people.directory.find(user)
    await deleteAccount(id)
    return { deleted: id }
  },
  print: ({ deleted }) => `Deleted ${deleted}.`,
  changes: ({ deleted }) => ({ userId: deleted }),
  target: ({ deleted }) => deleted,
})

async function readPassword(): Promise<string> {
  const [line = ''] = (await Bun.stdin.text()).split(/\r?\n/)
  if (line === '') throw new UsageError('No password came on standard input.')
  return line
}

export const peopleCommands = [userList, userShow, userCreate, userVerify, userSignOut, userDelete]
