import { t } from 'elysia'
import { type DeleteAccount, filterCharged } from '../../../lib/active-subscriptions.ts'
import { prettyJson, UsageError } from '../../../lib/command.ts'
import { AppError, invalidField } from '../../../lib/errors.ts'
import { asLocale } from '../../../lib/text/locale.ts'
import { type Caller, defineAction } from '../../../platform/actions/action.ts'
import { UserParams } from '../../../platform/http/api-key-guard.ts'
import { closedObject } from '../../../platform/http/replies/envelope.ts'
import { withoutReadOnly, withReadOnly } from '../../../platform/http/request/read-only.ts'
import { DeletionReply, deletionReply } from '../profile/model.ts'
import {
  NewServerUser,
  ServerUser,
  ServerUserPatch,
  ServerUserReply,
  toServerUser,
} from '../server/model.ts'
import type { ServerUsers } from '../server/service.ts'
import type { Users } from '../users.ts'
import { byAddress, findUser, id, serverRoute, USERS, User } from './user.ts'

type Needs = {
  users: Users
  serverUsers: ServerUsers
  exportData: (userId: string) => Promise<Record<string, unknown>>
  deleteAccount: DeleteAccount
}

const Change = withReadOnly(ServerUserPatch, ServerUser)

const create = defineAction({
  name: 'users.create',
  summary: 'Create an account and print its password',
  label: 'Created user',
  role: 'operator',
  input: NewServerUser,
  console: null,
  async work({ serverUsers }: Needs, input, { caller, baseUrl }) {
    const isGenerated = caller.via === 'command' && input.password === undefined
    const password = isGenerated ? { password: crypto.randomUUID() } : {}
    const account = await serverUsers
      .create({ ...input, ...password })
      .catch((error) => rethrowFor(caller, error))
    return {
      id: account.id,
      email: account.email,
      ...password,
      user: toServerUser(account, baseUrl),
    }
  },
  audit: (created) => ({ target: created.id }),
  server: {
    ...serverRoute,
    method: 'post',
    path: USERS,
    body: NewServerUser,
    operationId: 'createUser',
    summary: 'Create a user',
    description: 'Sends no e-mail and opens no session.',
    reply: ServerUserReply,
    failures: [409, 422, 507],
    show: ({ user }) => user,
  },
  command: {
    arguments: { email: '<email>' },
    options: [
      ['--name <name>', 'the user’s name'],
      ['--password-stdin', 'read the password from standard input'],
    ],
    read: async ([email = ''], { name, passwordStdin }) => ({
      email,
      ...(typeof name === 'string' ? { name } : {}),
      ...(passwordStdin ? { password: await readPassword() } : {}),
    }),
    report: ({ user: _user, ...created }) => created,
    print: ({ id: userId, email, password }) =>
      `Created ${email} (${userId})${password === undefined ? '' : `, password ${password}`}.`,
  },
})

const change = defineAction({
  name: 'users.change',
  summary: 'Change a user',
  label: 'Changed user',
  role: 'operator',
  input: closedObject({ id, ...Change.properties }),
  console: null,
  async work({ users, serverUsers }: Needs, { id: userId, ...body }, { baseUrl }) {
    const current = toServerUser(await users.directory.findById(userId), baseUrl)
    const patch = withoutReadOnly(ServerUserPatch, body, current)
    const { before, account } = await serverUsers.change(userId, patch)
    const emailVerified = account.emailVerifiedAt !== null
    const after = { fields: Object.keys(patch), emailVerified }
    return { before, after, user: toServerUser(account, baseUrl) }
  },
  audit: ({ before, after }, { id: target }) => ({ target, before, after }),
  server: {
    ...serverRoute,
    method: 'patch',
    path: `${USERS}/:id`,
    params: UserParams,
    body: Change,
    operationId: 'changeUser',
    description:
      'A merge patch (RFC 7396): absent fields stay, `null` restores the default. Other fields of the user are accepted if they are unchanged.',
    reply: ServerUserReply,
    failures: [404, 409, 422, 507],
    show: ({ user }) => user,
  },
  command: null,
})

const invite = defineAction({
  name: 'users.invite',
  summary: 'Invite someone to create an account, with SIGN_UP=invite',
  label: 'Invited user',
  role: 'operator',
  input: closedObject({
    email: t.String({ maxLength: 400 }),
    locale: t.Optional(t.String({ description: 'language of the e-mail (default: en)' })),
  }),
  console: null,
  async work({ users }: Needs, { email, locale = '' }, { caller }) {
    await users.signUp
      .invite(email, asLocale(locale) ?? 'en')
      .catch((error) => rethrowFor(caller, error))
    return { invited: email }
  },
  // Without the address, which the logs must not contain.
  audit: () => ({ after: {} }),
  command: {
    arguments: { email: '<email>' },
    print: ({ invited }) => `The invitation to ${invited} is on its way. It works for 7 days.`,
  },
})

const exportUser = defineAction({
  name: 'users.export',
  summary: 'Print all data about a user as JSON',
  label: 'Exported data of',
  role: 'operator',
  proof: 'stepUp',
  input: User,
  console: 'people/:id/export',
  form: { verb: 'Export all data' },
  work: async ({ users, exportData }: Needs, input) =>
    exportData((await users.directory.find(input.id)).id),
  audit: (exported) => ({ target: findExportedId(exported) }),
  fileName: (exported) => `${findExportedId(exported)}.json`,
  command: { ...byAddress, print: prettyJson },
})

const remove = defineAction({
  name: 'users.delete',
  summary: 'Delete an account with its profile, files and sessions',
  label: 'Deleted user',
  role: 'operator',
  proof: 'stepUp',
  input: closedObject({
    id,
    /** In the console the operator types the user's address, or a guest's id. */
    confirm: t.Optional(t.String({ maxLength: 400, isForConsole: true })),
  }),
  console: 'people/:id/delete',
  form: { verb: 'Delete', consequence: 'This cannot be undone.', done: 'Deleted' },
  async work({ users, deleteAccount }: Needs, input, { caller }) {
    const account = await findUser(users, input.id, caller)
    if (caller.via === 'console' && input.confirm !== (account.email ?? account.id)) {
      const message = 'must be the account’s e-mail address or id'
      throw invalidField('confirm', message, 'Nothing was deleted.')
    }
    const activeSubscriptions = await deleteAccount(account.id)
    return { deleted: account.id, createdAt: account.createdAt, activeSubscriptions }
  },
  audit: ({ deleted, createdAt }) => ({
    target: deleted,
    before: { createdAt: createdAt.toISOString() },
  }),
  server: {
    ...serverRoute,
    method: 'delete',
    path: `${USERS}/:id`,
    params: UserParams,
    operationId: 'deleteUser',
    summary: 'Delete a user',
    description:
      'Immediate and permanent: removes sessions, files and personal data. Stores keep charging for `activeSubscriptions`.',
    reply: DeletionReply,
    failures: [404, 507],
    toReply: ({ activeSubscriptions }) => deletionReply(activeSubscriptions),
  },
  command: {
    ...byAddress,
    risk: async ({ users }: Needs, input) => {
      const account = await users.directory.find(input.id)
      return `This permanently deletes ${account.email ?? 'the user'} (${account.id}) with profile, files and sessions.`
    },
    print: ({ deleted, activeSubscriptions }) =>
      `Deleted ${deleted}.${filterCharged(activeSubscriptions).length > 0 ? ' The store keeps charging for a subscription until the user cancels it.' : ''}`,
  },
})

function findExportedId({ user }: Record<string, unknown>): string {
  return (user as { _id: string })._id
}

/** The default message is meant for the owner of the e-mail address, not for operators. */
function rethrowFor({ via }: Caller, error: unknown): never {
  if (via !== 'command' || !(error instanceof AppError) || error.code !== 'email_taken') throw error
  throw new AppError(
    error.code,
    'An account with this e-mail address already exists: see "homeport users show <email>".',
  )
}

async function readPassword(): Promise<string> {
  const [line = ''] = (await Bun.stdin.text()).split(/\r?\n/)
  if (line === '') throw new UsageError('There is no password on standard input.')
  return line
}

export const accountActions = [create, change, invite, exportUser, remove]
