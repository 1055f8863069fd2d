import { Elysia } from 'elysia'
import { json, readBody, readJson } from '../../../platform/http/body/body.ts'
import {
  createDataSchema,
  data,
  Message,
  message,
  responses,
} from '../../../platform/http/replies/envelope.ts'
import {
  ChallengeBody,
  LoginBody,
  ProviderQuery,
  RefreshBody,
  RegisterBody,
  SessionReply,
  SignInReply,
  SocialBody,
} from '../model.ts'
import { APPLE_ACCOUNT_PATH, AppleAccountNotification } from '../social/model.ts'
import { OPTIONAL_GUEST_TOKEN, type UserRoutesDeps } from './deps.ts'
import { createOriginReader, readBearer, readLocale } from './origin.ts'

const tags = ['Signing in']
/** Apple's notifications are about 1 kB in size. */
const MAX_NOTIFICATION_BYTES = 16 * 1024

export function signInRoutes({ users, signedIn, ...origins }: UserRoutesDeps) {
  const readOrigin = createOriginReader(origins)
  const { appleNotifications, passwordLogin, signIn, socialLogin, guests, sessions } = users
  const { readBearerUserId, readBearerUserIdIfValid } = guests
  return new Elysia({ name: 'auth-sign-in' })
    .use(signedIn)
    .post(
      '/api/auth/register/v1',
      async ({ body: { name = '', ...login }, request, server }) =>
        data(
          await passwordLogin.register(
            { ...login, name, ...readLocale(request) },
            readOrigin(request, server),
            await readBearerUserId(...readBearer(request)),
          ),
        ),
      {
        ...json(RegisterBody),
        response: responses(createDataSchema(SessionReply), 400, 401, 409, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'register',
          security: OPTIONAL_GUEST_TOKEN,
          summary: 'Create an account and sign in',
          description:
            "Returns a session. With a guest's token in `Authorization` the guest is upgraded and keeps its id, files and purchases.",
        },
      },
    )
    .post(
      '/api/auth/login/v1',
      async ({ body: { email, password }, request, server }) =>
        passwordLogin.login(
          email,
          password,
          readOrigin(request, server),
          await readBearerUserIdIfValid(...readBearer(request)),
        ),
      {
        ...json(LoginBody),
        response: responses(SignInReply, 400, 401, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'login',
          security: OPTIONAL_GUEST_TOKEN,
          summary: 'Sign in',
          description:
            "Returns a session, or with code `two_factor_required` a two-factor challenge. With a guest's token in `Authorization` the guest is merged into the account once the sign-in is done.",
        },
      },
    )
    .post(
      '/api/auth/login/v1/two_factor',
      async ({ body: { challengeToken, code }, request, server }) =>
        data(
          await signIn.passChallenge(
            challengeToken,
            code,
            readOrigin(request, server),
            await readBearerUserIdIfValid(...readBearer(request)),
          ),
        ),
      {
        ...json(ChallengeBody),
        response: responses(createDataSchema(SessionReply), 400, 401, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'passTwoFactor',
          security: OPTIONAL_GUEST_TOKEN,
          summary: 'Complete a two-factor sign-in',
          description:
            'Takes the challenge from the first step and a code. Five wrong codes end the challenge. With a guest’s token in `Authorization`, in either step, the guest is merged into the account.',
        },
      },
    )
    .post(
      '/api/auth/social/v1',
      async ({ body: { name = '', ...login }, request, server }) =>
        socialLogin.login(
          login,
          { name, ...readLocale(request) },
          readOrigin(request, server),
          await readBearerUserId(...readBearer(request)),
        ),
      {
        ...json(SocialBody),
        response: responses(SignInReply, 400, 401, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'signInSocially',
          security: OPTIONAL_GUEST_TOKEN,
          summary: 'Sign in with Google, Apple or the OpenID Connect provider',
          description:
            "Takes the id token from the provider. An account with the same verified address is linked if the provider owns that address (Apple; Google for gmail.com and Workspace; the OpenID Connect provider for the domains of the server’s configuration) or the account's token is sent. An account that never verified the address is taken over if the provider owns it: its password, passkeys, providers and sessions end. With a guest's token the guest is upgraded or merged.",
        },
      },
    )
    .delete(
      '/api/auth/social/v1',
      async ({ session: { userId, sessionId }, query: { provider, code } }) => {
        await socialLogin.unlink(userId, sessionId, provider, code)
        return message('The provider has been unlinked. Other devices have been signed out.')
      },
      {
        signedIn: true,
        parse: 'none',
        query: ProviderQuery,
        response: responses(Message, 400, 401, 403, 404, 409, 422, 429),
        detail: {
          tags,
          operationId: 'unlinkProvider',
          summary: 'Unlink an identity provider',
          description:
            'Needs a code if two-factor is on. 409 when it is the only way to sign in. Other devices are signed out.',
        },
      },
    )
    .post(
      APPLE_ACCOUNT_PATH,
      async ({ request, server }) => {
        const body = Object(readJson(await readBody(request, MAX_NOTIFICATION_BYTES)))
        const ip = origins.findIp(request, server)
        const code = await appleNotifications.receive(body.payload, ip)
        return message('The notification was received.', code)
      },
      {
        parse: 'none',
        response: responses(Message, 400, 401, 413, 415, 429),
        detail: {
          tags: ['Webhook'],
          operationId: 'receiveAppleAccountNotification',
          summary: 'Receive a notification of Sign in with Apple',
          description:
            'For Apple only: the notification must be signed by Apple for one of `APPLE_CLIENT_IDS`. `consent-revoked` and `account-delete` unlink the Apple account and end the user’s sessions; `email-disabled` and `email-enabled` stop and resume e-mails to the private address. Returns 200 with the code `ok`, `duplicate` or `ignored`.',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: AppleAccountNotification as object } },
          },
        },
      },
    )
    .post(
      '/api/auth/guest/v1',
      async ({ request, server }) =>
        data(
          await guests.create({ name: '', ...readLocale(request) }, readOrigin(request, server)),
        ),
      {
        parse: 'none',
        response: responses(createDataSchema(SessionReply), 400, 429, 507),
        detail: {
          tags,
          operationId: 'startAsGuest',
          summary: 'Start without an account',
          description:
            'Returns a session of a new account without credentials. Any later sign-up, or adding a passkey, turns it into an account; signing in to an existing account merges it. Until then the session is the only way to use it. The account is deleted after 90 days without use, a new file or access from a purchase.',
        },
      },
    )
    .post(
      '/api/auth/refresh/v1',
      async ({ body: { refreshToken }, request, server }) =>
        data(await signIn.refresh(refreshToken, readOrigin(request, server))),
      {
        ...json(RefreshBody),
        response: responses(createDataSchema(SessionReply), 400, 401, 409, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'refresh',
          summary: 'Exchange the refresh token',
          description:
            'Each use replaces the refresh token. Store the new token before you use it. If the response is lost, send the same token again to get the same successor. 409: another process of the app has just refreshed this session; read the tokens that it stored. A session ends after 60 days without use, and 365 days after the sign-in; a guest’s session ends only after 60 days without use.',
        },
      },
    )
    .post(
      '/api/auth/logout/v1',
      async ({ session }) => {
        await sessions.end(session.sessionId)
        return message('Signed out.')
      },
      {
        signedIn: true,
        parse: 'none',
        response: responses(Message, 400, 401),
        detail: {
          tags,
          operationId: 'logout',
          summary: 'Sign out of this session',
          description: 'Ends the current session immediately.',
        },
      },
    )
}
