import { Elysia } from 'elysia'
import { json } from '../../../platform/http/body/body.ts'
import { createDataSchema, data, responses } from '../../../platform/http/replies/envelope.ts'
import { EmailCodeAnswerBody, EmailCodeBody, EmailCodeReply, SignInReply } from '../model.ts'
import { OPTIONAL_GUEST_TOKEN, type UserRoutesDeps } from './deps.ts'
import { createOriginReader, readBearer, readLocale } from './origin.ts'

const PATH = '/api/auth/email_code/v1'
const tags = ['Signing in']

export function emailCodeRoutes({ users, signedIn, ...origins }: UserRoutesDeps) {
  const { emailCodes, guests } = users
  const readOrigin = createOriginReader(origins)
  return new Elysia({ name: 'auth-email-code' })
    .use(signedIn)
    .post(
      PATH,
      async ({ body: { email }, request, server }) => {
        const { locale } = readLocale(request)
        return data(await emailCodes.request(email, locale, readOrigin(request, server)))
      },
      {
        ...json(EmailCodeBody),
        response: responses(createDataSchema(EmailCodeReply), 400, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'requestEmailCode',
          summary: 'Send a sign-in code by e-mail',
          description:
            'Sends six digits to the address. They work for ten minutes, for five attempts and only together with the `requestToken` of this response. Earlier codes keep working. The response is the same whether the account exists or not.',
        },
      },
    )
    .post(
      `${PATH}/verify`,
      async ({ body: { name = '', ...answer }, request, server }) =>
        emailCodes.signInWith(
          answer,
          { name, ...readLocale(request) },
          readOrigin(request, server),
          await guests.readBearerUserId(...readBearer(request)),
        ),
      {
        ...json(EmailCodeAnswerBody),
        response: responses(SignInReply, 400, 401, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'signInWithEmailCode',
          security: OPTIONAL_GUEST_TOKEN,
          summary: 'Sign in with the code from the e-mail',
          description:
            "Creates the account if there is none, unless `SIGN_UP` forbids it. If the account's address was not verified yet, its password and other sign-in methods are removed, because a stranger may have set them. With a guest's token the guest is upgraded or merged.",
        },
      },
    )
}
