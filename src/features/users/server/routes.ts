import { Elysia } from 'elysia'
import { queriedAddress } from '../../../lib/text/email-address.ts'
import { type ScopeGuard, SERVER_API, UserParams } from '../../../platform/http/api-key-guard.ts'
import { form } from '../../../platform/http/body/body.ts'
import { data, responses } from '../../../platform/http/replies/envelope.ts'
import type { Introspect } from '../sessions/introspection.ts'
import type { Users } from '../users.ts'
import {
  Introspection,
  IntrospectionRequest,
  ServerUserReply,
  ServerUsersReply,
  toServerUser,
  UsersQuery,
} from './model.ts'

type ServerUserRoutesDeps = {
  users: Pick<Users, 'directory'>
  introspect: Introspect
  scopeGuard: ScopeGuard
  findBaseUrl: (request: Request) => string
}

const USERS = `${SERVER_API}/users/v1`
const users = ['Users']

export function serverUserRoutes(deps: ServerUserRoutesDeps) {
  const { introspect, scopeGuard, findBaseUrl } = deps
  const { directory } = deps.users
  return new Elysia({ name: 'server-users' })
    .use(scopeGuard)
    .get(
      USERS,
      async ({ query: { email, limit, after }, request }) => {
        const page = { ...(after ? { after } : {}), ...(limit ? { limit } : {}) }
        const found = email === undefined ? await directory.page(page) : await withEmail(email)
        const list = found.accounts.map((account) => toServerUser(account, findBaseUrl(request)))
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
          description: 'Newest first. To get the next page, pass `next` as `after`.',
        },
      },
    )
    .get(
      `${USERS}/:id`,
      async ({ params, request }) =>
        data(toServerUser(await directory.findById(params.id), findBaseUrl(request))),
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
