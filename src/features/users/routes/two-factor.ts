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
  ConfirmBody,
  DisableBody,
  RecoveryCodesReply,
  RenewCodesBody,
  TwoFactorBody,
  TwoFactorReply,
} from '../model.ts'
import type { UserRoutesDeps } from './deps.ts'

const PATH = '/api/auth/two_factor/v1'
const tags = ['Signing in']

export function twoFactorRoutes({ users: { twoFactor }, signedIn }: UserRoutesDeps) {
  return new Elysia({ name: 'auth-two-factor' })
    .use(signedIn)
    .post(PATH, async ({ session, body }) => data(await twoFactor.setUp(session, body.password)), {
      ...json(TwoFactorBody),
      signedIn: true,
      response: responses(createDataSchema(TwoFactorReply), 400, 401, 403, 409, 413, 415, 422, 429),
      detail: {
        tags,
        operationId: 'setUpTwoFactor',
        summary: 'Create a two-factor secret',
        description: 'Two-factor turns on when the first code confirms it.',
      },
    })
    .post(
      `${PATH}/confirm`,
      async ({ session: { userId, sessionId }, body }) =>
        data({ recoveryCodes: await twoFactor.confirm(userId, sessionId, body.code) }),
      {
        ...json(ConfirmBody),
        signedIn: true,
        response: responses(
          createDataSchema(RecoveryCodesReply),
          400,
          401,
          409,
          413,
          415,
          422,
          429,
        ),
        detail: {
          tags,
          operationId: 'confirmTwoFactor',
          summary: 'Turn two-factor on',
          description:
            'Returns the recovery codes. If the response is lost, send the same code again within five minutes.',
        },
      },
    )
    .post(
      `${PATH}/recovery_codes`,
      async ({ session, body: { password, code } }) =>
        data({ recoveryCodes: await twoFactor.renewRecoveryCodes(session, password, code) }),
      {
        ...json(RenewCodesBody),
        signedIn: true,
        response: responses(
          createDataSchema(RecoveryCodesReply),
          400,
          401,
          403,
          409,
          413,
          415,
          422,
          429,
        ),
        detail: {
          tags,
          operationId: 'renewRecoveryCodes',
          summary: 'Generate new recovery codes',
          description: 'Needs the password and a code. The old recovery codes stop working.',
        },
      },
    )
    .delete(
      PATH,
      async ({ session, body }) => {
        await twoFactor.disable(session, body.password, body.code)
        return message('Two-factor is off. Other devices have been signed out.')
      },
      {
        ...json(DisableBody),
        signedIn: true,
        response: responses(Message, 400, 401, 403, 413, 415, 422, 429),
        detail: {
          tags,
          operationId: 'disableTwoFactor',
          summary: 'Turn two-factor off',
          description: 'Needs the password and a code. Other devices are signed out.',
        },
      },
    )
}
