import { Elysia } from 'elysia'
import { json } from '../../../platform/http/body/body.ts'
import {
  createDataSchema,
  data,
  Message,
  message,
  responses,
} from '../../../platform/http/replies/envelope.ts'
import {
  CancelChangeBody,
  ChangeEmailBody,
  DevicesReply,
  ForgotBody,
  PasswordBody,
  ResetBody,
  SessionQuery,
  VerifyBody,
} from '../model.ts'
import type { UserRoutesDeps } from './deps.ts'

const tags = ['Signing in']
const PASSWORD = '/api/auth/password/v1'
const EMAIL = '/api/auth/email/v1'
const SESSIONS = '/api/auth/sessions/v1'

export function accountRoutes({ users, findIp, signedIn }: UserRoutesDeps) {
  const { passwordLogin, ownerProof, twoFactor, addresses, devices, accountSecurity } = users
  return new Elysia({ name: 'auth-account' })
    .use(signedIn)
    .get(
      SESSIONS,
      async ({ session }) => data(await devices.list(session.userId, session.sessionId)),
      {
        signedIn: true,
        response: responses(createDataSchema(DevicesReply), 400, 401),
        detail: {
          tags,
          operationId: 'listSessions',
          summary: 'Signed-in devices',
          description: 'All sessions of the user, most recently used first.',
        },
      },
    )
    .delete(
      SESSIONS,
      async ({ session, query: { id } }) => {
        if (id === 'others')
          await accountSecurity.endOtherSessions(session.userId, session.sessionId)
        else await devices.end(session.userId, id)
        return message('The session has ended.')
      },
      {
        signedIn: true,
        parse: 'none',
        query: SessionQuery,
        response: responses(Message, 400, 401, 404, 422),
        detail: {
          tags,
          operationId: 'endSession',
          summary: 'Sign a device out',
          description: 'Ends one session, or with `others` all except the current one.',
        },
      },
    )
    .patch(
      PASSWORD,
      async ({ session, body }) => {
        const { userId, sessionId } = session
        const { currentPassword, newPassword, code } = body
        await passwordLogin.change(userId, sessionId, currentPassword, newPassword, code)
        return message('The password has been changed. Other devices have been signed out.')
      },
      {
        ...json(PasswordBody),
        signedIn: true,
        response: responses(Message, 400, 401, 403, 413, 415, 422, 429),
        detail: {
          tags,
          operationId: 'changePassword',
          summary: 'Change the password',
          description:
            'Needs the current password, and a code if two-factor is on. Other devices are signed out.',
        },
      },
    )
    .post(
      `${PASSWORD}/forgot`,
      async ({ body: { email }, request, server }) => {
        await addresses.requestReset(email, findIp(request, server))
        return message('If the account exists, an e-mail is on its way.')
      },
      {
        ...json(ForgotBody),
        response: responses(Message, 400, 413, 415, 422, 429),
        detail: {
          tags,
          operationId: 'forgotPassword',
          summary: 'Request a password reset',
          description:
            'Sends an e-mail with a link if the account exists. The response is always the same.',
        },
      },
    )
    .post(
      `${PASSWORD}/reset`,
      async ({ body: { token, newPassword } }) => {
        await passwordLogin.reset(token, newPassword)
        return message('The new password is set. You can now sign in with it.')
      },
      {
        ...json(ResetBody),
        response: responses(Message, 400, 401, 413, 415, 422),
        detail: {
          tags,
          operationId: 'resetPassword',
          summary: 'Set a new password',
          description: 'Takes the token from the e-mail. All devices are signed out.',
        },
      },
    )
    .post(
      `${EMAIL}/verify`,
      async ({ body: { token } }) => {
        const isFirstUse = await addresses.verify(token)
        return message(
          isFirstUse ? 'The address has been confirmed.' : 'The address is already confirmed.',
        )
      },
      {
        ...json(VerifyBody),
        response: responses(Message, 400, 401, 409, 413, 415, 422),
        detail: {
          tags,
          operationId: 'verifyEmail',
          summary: 'Confirm an e-mail address',
          description:
            'Takes the token from the e-mail. Also applies a change of address. A second use of the link succeeds too, while the account has the address.',
        },
      },
    )
    .post(
      `${EMAIL}/resend`,
      async ({ session, request, server }) => {
        await addresses.resend(session.userId, findIp(request, server))
        return message('An e-mail is on its way.')
      },
      {
        signedIn: true,
        parse: 'none',
        response: responses(Message, 400, 401, 409, 429),
        detail: {
          tags,
          operationId: 'resendVerification',
          summary: 'Resend the verification e-mail',
          description: 'Sends the e-mail again; 409 when there is nothing to confirm.',
        },
      },
    )
    .post(
      `${EMAIL}/change`,
      async ({ session, body: { password, email, code }, request, server }) => {
        const recheckPassword = await ownerProof.prove(session, password)
        const useCode = await twoFactor.requireCode(session.userId, code)
        await addresses.change(session.userId, email, findIp(request, server), async (tx) => {
          await recheckPassword(tx)
          await useCode(tx)
        })
        return message(
          'An e-mail is on its way to the new address. Nothing changes until you open its link.',
        )
      },
      {
        ...json(ChangeEmailBody),
        signedIn: true,
        response: responses(Message, 400, 401, 403, 409, 413, 415, 422, 429),
        detail: {
          tags,
          operationId: 'changeEmail',
          summary: 'Change the e-mail address',
          description:
            'Needs the password, and a code if two-factor is on. Sends an e-mail to the new address. Nothing changes until its link is opened.',
        },
      },
    )
    .post(
      `${EMAIL}/cancel`,
      async ({ body: { token } }) => {
        await addresses.cancelChange(token)
        return message('The address is unchanged. Choose a new password: someone else knows yours.')
      },
      {
        ...json(CancelChangeBody),
        response: responses(Message, 400, 401, 413, 415, 422),
        detail: {
          tags,
          operationId: 'cancelEmailChange',
          summary: 'Cancel an e-mail address change',
          description: 'Takes the token from the e-mail to the old address.',
        },
      },
    )
}
