import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { Elysia, t } from 'elysia'
import { json } from '../../../platform/http/body/body.ts'
import {
  createDataSchema,
  data,
  Message,
  message,
  responses,
} from '../../../platform/http/replies/envelope.ts'
import { SessionReply } from '../model.ts'
import {
  AddPasskeyBody,
  CreationOptions,
  PasskeyQuery,
  PasskeyReply,
  PasskeySignInBody,
  RegistrationBody,
  RenamePasskeyBody,
  RequestOptions,
} from '../passkeys/model.ts'
import { OPTIONAL_GUEST_TOKEN, type UserRoutesDeps } from './deps.ts'
import { createOriginReader, readBearer } from './origin.ts'

const PATH = '/api/auth/passkey/v1'
const tags = ['Signing in']
const WRONG_ORIGIN = '403 `wrong_origin` for a web page whose origin is not in `PASSKEY_ORIGINS`.'

export function passkeyRoutes({ users, signedIn, ...origins }: UserRoutesDeps) {
  const { passkeys, passkeyLogin, guests, webOriginGuard } = users
  const readOrigin = createOriginReader(origins)
  return new Elysia({ name: 'auth-passkeys' })
    .use(signedIn)
    .post(`${PATH}/sign_in/options`, () => data(passkeyLogin.start()), {
      parse: 'none',
      beforeHandle: webOriginGuard.check,
      response: responses(createDataSchema(RequestOptions), 400, 403),
      detail: {
        tags,
        operationId: 'startPasskeySignIn',
        summary: 'Get the options for signing in with a passkey',
        description: `For \`navigator.credentials.get\`. The user need not enter a name. ${WRONG_ORIGIN}`,
      },
    })
    .post(
      `${PATH}/sign_in`,
      async ({ body: { credential }, request, server }) =>
        data(
          await passkeyLogin.login(
            credential as AuthenticationResponseJSON,
            readOrigin(request, server),
            await guests.readBearerUserIdIfValid(...readBearer(request)),
          ),
        ),
      {
        ...json(PasskeySignInBody),
        response: responses(createDataSchema(SessionReply), 400, 401, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'signInWithPasskey',
          security: OPTIONAL_GUEST_TOKEN,
          summary: 'Sign in with a passkey',
          description:
            "Returns a session; no two-factor code is needed, even if two-factor is on. With a guest's token the guest is merged into the account.",
        },
      },
    )
    .get(PATH, async ({ session }) => data(await passkeys.list(session.userId)), {
      signedIn: true,
      response: responses(createDataSchema(t.Array(PasskeyReply)), 400, 401),
      detail: {
        tags,
        operationId: 'listPasskeys',
        summary: 'The user’s passkeys',
        description: 'The passkeys of the signed-in user, oldest first.',
      },
    })
    .post(
      `${PATH}/options`,
      async ({ session, body: { password, code } }) =>
        data(await passkeys.startRegistration(session, password, code)),
      {
        ...json(RegistrationBody),
        signedIn: true,
        beforeHandle: webOriginGuard.check,
        response: responses(
          createDataSchema(CreationOptions),
          400,
          401,
          403,
          413,
          415,
          422,
          429,
          507,
        ),
        detail: {
          tags,
          operationId: 'startPasskeyRegistration',
          summary: 'Get the options for creating a passkey',
          description: `For \`navigator.credentials.create\`. Needs the password, or a sign-in in the last ten minutes; otherwise 403 \`recent_sign_in_required\`. With two-factor on it also needs a code; otherwise 403 \`two_factor_required\`. Guests need neither. ${WRONG_ORIGIN}`,
        },
      },
    )
    .post(
      PATH,
      async ({ session, body: { credential, name = '' } }) =>
        data(await passkeys.add(session, credential as RegistrationResponseJSON, name)),
      {
        ...json(AddPasskeyBody),
        signedIn: true,
        response: responses(createDataSchema(PasskeyReply), 400, 401, 403, 409, 413, 415, 422, 507),
        detail: {
          tags,
          operationId: 'addPasskey',
          summary: 'Add a passkey',
          description:
            'A guest becomes an account that signs in with it. The user is notified by e-mail. At most 20 per user.',
        },
      },
    )
    .patch(
      PATH,
      async ({ session, body: { id, name } }) =>
        data(await passkeys.rename(session.userId, id, name)),
      {
        ...json(RenamePasskeyBody),
        signedIn: true,
        response: responses(createDataSchema(PasskeyReply), 400, 401, 404, 413, 415, 422),
        detail: {
          tags,
          operationId: 'renamePasskey',
          summary: 'Rename a passkey',
          description: 'The name helps the user to recognize it.',
        },
      },
    )
    .delete(
      PATH,
      async ({ session, query: { id, code } }) => {
        await passkeys.remove(session, id, code)
        return message('The passkey has been removed. Other devices have been signed out.')
      },
      {
        signedIn: true,
        parse: 'none',
        query: PasskeyQuery,
        response: responses(Message, 400, 401, 403, 404, 409, 422, 429),
        detail: {
          tags,
          operationId: 'removePasskey',
          summary: 'Remove a passkey',
          description:
            'Needs a code if two-factor is on. 409 when it is the only way to sign in. Other devices are signed out.',
        },
      },
    )
}
