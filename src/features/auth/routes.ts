import { Elysia, t } from 'elysia'
import type { authenticate } from '../../http/authenticate.ts'
import { json } from '../../http/body.ts'
import { deviceOf, startLocaleOf, timezoneOf } from '../../http/client-hints.ts'
import { DataOf, data, Message, message, responses } from '../../http/envelope.ts'
import type { UserProfile } from '../../http/user-profile.ts'
import { LoginBody, RefreshBody, RegisterBody, SessionReply } from './model.ts'
import type { Auth } from './service.ts'
import type { Tokens } from './tokens.ts'

const tags = ['Signing in']

export type AuthRoutesDeps = {
  auth: Auth<UserProfile>
  tokens: Pick<Tokens, 'publicJwk'>
  signedIn: ReturnType<typeof authenticate>
}

export function authRoutes({ auth, tokens, signedIn }: AuthRoutesDeps) {
  return new Elysia({ name: 'auth' })
    .use(signedIn)
    .post(
      '/api/auth/register/v1',
      async ({ body, request: { headers } }) =>
        data(
          await auth.register({
            email: body.email,
            password: body.password,
            name: body.name ?? '',
            device: deviceOf(headers),
            locale: startLocaleOf(headers),
            timezone: timezoneOf(headers),
          }),
        ),
      {
        ...json(RegisterBody),
        response: responses(DataOf(SessionReply), 400, 409, 413, 415, 422, 503),
        detail: { tags, operationId: 'register', summary: 'Make an account and sign in' },
      },
    )
    .post(
      '/api/auth/login/v1',
      async ({ body, request: { headers } }) =>
        data(await auth.login({ ...body, device: deviceOf(headers) })),
      {
        ...json(LoginBody),
        response: responses(DataOf(SessionReply), 400, 401, 413, 415, 422, 503),
        detail: { tags, operationId: 'login', summary: 'Sign in' },
      },
    )
    .post('/api/auth/refresh/v1', async ({ body }) => data(await auth.refresh(body.refreshToken)), {
      ...json(RefreshBody),
      response: responses(DataOf(SessionReply), 400, 401, 413, 415, 422, 503),
      detail: { tags, operationId: 'refresh', summary: 'Exchange the refresh token' },
    })
    .post(
      '/api/auth/logout/v1',
      async ({ session }) => {
        await auth.logout(session.sessionId)
        return message('Signed out.')
      },
      {
        signedIn: true,
        parse: 'none',
        response: responses(Message, 400, 401, 503),
        detail: { tags, operationId: 'logout', summary: 'Sign out of this session' },
      },
    )
    .get(
      '/.well-known/jwks.json',
      ({ set }) => {
        set.headers['cache-control'] = 'public, max-age=3600'
        return { keys: [tokens.publicJwk] }
      },
      {
        response: responses(t.Object({ keys: t.Array(t.Any()) }), 400),
        detail: { tags, operationId: 'readKeys', summary: 'Public keys of access tokens' },
      },
    )
}
