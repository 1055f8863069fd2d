import { Elysia } from 'elysia'
import type { DeleteAccount } from '../../../lib/active-subscriptions.ts'
import { queriedAddress } from '../../../lib/text/email-address.ts'
import {
  type RecordByKey,
  type ScopeGuard,
  SERVER_API,
  UserParams,
} from '../../../platform/http/api-key-guard.ts'
import { form, json } from '../../../platform/http/body/body.ts'
import { data, responses } from '../../../platform/http/replies/envelope.ts'
import { withoutReadOnly, withReadOnly } from '../../../platform/http/request/read-only.ts'
import { DeletionReply, deletionReply } from '../profile/model.ts'
import type { Introspect } from '../sessions/introspection.ts'
import type { Users } from '../users.ts'
import {
  Introspection,
  IntrospectionRequest,
  NewServerUser,
  ServerUser,
  ServerUserPatch,
  ServerUserReply,
  ServerUsersReply,
  SignedOutReply,
  toServerUser,
  UsersQuery,
} from './model.ts'
import type { ServerUsers } from './service.ts'

type ServerUserRoutesDeps = {
  users: Pick<Users, 'directory' | 'accountSecurity' | 'devices'>
  serverUsers: ServerUsers
  introspect: Introspect
  deleteAccount: DeleteAccount
  scopeGuard: ScopeGuard
  recordByKey: RecordByKey
  baseUrlOf: (request: Request) => string
}

const USERS = `${SERVER_API}/users/v1`
const users = ['Users']
const WRITES = [400, 401, 403, 404, 409, 413, 415, 422, 429, 507] as const

/** The routes with which the app's other servers read and change users. */
export function serverUserRoutes(deps: ServerUserRoutesDeps) {
  const { serverUsers, introspect, deleteAccount, scopeGuard, recordByKey, baseUrlOf } = deps
  const { directory, accountSecurity, devices } = deps.users
  return new Elysia({ name: 'server-users' })
    .use(scopeGuard)
    .get(
      USERS,
      async ({ query: { email, limit, after }, request }) => {
        const page = { ...(after ? { after } : {}), ...(limit ? { limit } : {}) }
        const found = email === undefined ? await directory.page(page) : await withEmail(email)
        const list = found.accounts.map((account) => toServerUser(account, baseUrlOf(request)))
        return { ...data(list), ...(found.next === null ? {} : { next: found.next }) }
      },
      {
        scope: 'users:read',
        query: UsersQuery,
        response: responses(ServerUsersReply, 400, 401, 403, 422, 429),
        detail: {
          tags: users,
          operationId: 'listUsers',
          summary: 'List users, or find one by e-mail address',
          description: 'The newest first. To get the next page, pass `next` as `after`.',
        },
      },
    )
    .get(
      `${USERS}/:id`,
      async ({ params, request }) =>
        data(toServerUser(await directory.findById(params.id), baseUrlOf(request))),
      {
        scope: 'users:read',
        params: UserParams,
        response: responses(ServerUserReply, 400, 401, 403, 404, 429),
        detail: {
          tags: users,
          operationId: 'readUser',
          summary: 'Read a user',
          description: 'The user with this id.',
        },
      },
    )
    .post(
      USERS,
      async ({ body, request }) => {
        const account = await serverUsers.create(body)
        await recordByKey(request, { action: 'user.create', target: account.id })
        return data(toServerUser(account, baseUrlOf(request)))
      },
      {
        scope: 'users:write',
        ...json(NewServerUser),
        response: responses(ServerUserReply, 400, 401, 403, 409, 413, 415, 422, 429, 507),
        detail: {
          tags: users,
          operationId: 'createUser',
          summary: 'Create a user',
          description: 'Sends no e-mail and opens no session.',
        },
      },
    )
    .patch(
      `${USERS}/:id`,
      async ({ params, body, request }) => {
        const current = toServerUser(await directory.findById(params.id), baseUrlOf(request))
        const patch = withoutReadOnly(ServerUserPatch, body, current)
        const { before, account } = await serverUsers.change(params.id, patch)
        const after = {
          fields: Object.keys(patch),
          emailVerified: account.emailVerifiedAt !== null,
        }
        await recordByKey(request, { action: 'user.change', target: account.id, before, after })
        return data(toServerUser(account, baseUrlOf(request)))
      },
      {
        scope: 'users:write',
        params: UserParams,
        ...json(withReadOnly(ServerUserPatch, ServerUser)),
        response: responses(ServerUserReply, ...WRITES),
        detail: {
          tags: users,
          operationId: 'changeUser',
          summary: 'Change a user',
          description:
            'A merge patch (RFC 7396): absent fields stay, `null` restores the default. Other fields of the user are accepted if they are unchanged.',
        },
      },
    )
    .post(
      `${USERS}/:id/sign_out`,
      async ({ params, request }) => {
        const { id } = await directory.findById(params.id)
        const { length: ended } = await devices.list(id, '')
        await accountSecurity.signOut(id)
        const before = { sessions: ended }
        await recordByKey(request, { action: 'user.sign-out', target: id, before })
        return data({ ended })
      },
      {
        scope: 'users:write',
        params: UserParams,
        parse: 'none',
        response: responses(SignedOutReply, 400, 401, 403, 404, 429, 507),
        detail: {
          tags: users,
          operationId: 'signUserOut',
          summary: 'Sign a user out on every device',
          description: 'Ends all sessions at once; access tokens are refused from then on.',
        },
      },
    )
    .delete(
      `${USERS}/:id`,
      async ({ params, request }) => {
        const { id, createdAt } = await directory.findById(params.id)
        const subscriptions = await deleteAccount(id)
        const before = { createdAt: createdAt.toISOString() }
        await recordByKey(request, { action: 'user.delete', target: id, before })
        return deletionReply(subscriptions)
      },
      {
        scope: 'users:write',
        params: UserParams,
        parse: 'none',
        response: responses(DeletionReply, 400, 401, 403, 404, 429, 507),
        detail: {
          tags: users,
          operationId: 'deleteUser',
          summary: 'Delete a user',
          description:
            'Immediate and permanent: removes sessions, files and personal data. Stores go on charging for `activeSubscriptions`.',
        },
      },
    )
    .post(`${SERVER_API}/tokens/v1/introspect`, ({ body }) => introspect(body.token), {
      clientScope: 'users:read',
      ...form(IntrospectionRequest),
      response: responses(Introspection, 400, 401, 403, 413, 415, 422, 429),
      detail: {
        tags: ['Tokens'],
        operationId: 'introspectToken',
        summary: 'Check an access token (RFC 7662)',
        description:
          'Says whether a token is valid and its session is still active. The public keys alone cannot tell whether the session has ended. The key may also be the secret of an OAuth client: by Basic authentication, or as `client_secret`.',
        'x-form': true,
      },
    })

  async function withEmail(email: string) {
    const account = await directory.findByEmail(queriedAddress(email))
    return { accounts: account ? [account] : [], next: null }
  }
}
