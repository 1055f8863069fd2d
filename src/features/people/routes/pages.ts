import { type Context, Elysia, t } from 'elysia'
import { readBody } from '../../../http/body.ts'
import { STATUS } from '../../../http/errors.ts'
import { rawReply } from '../../../http/raw-reply.ts'
import { AppError } from '../../../lib/errors.ts'
import {
  cancelPage,
  deletePage,
  PAGE_CSP,
  resetPage,
  resultPage,
  verifyPage,
} from '../page-templates.ts'
import type { PeopleRoutesDeps } from './deps.ts'

const FORM_LIMIT = 4 * 1024
const hidden = { detail: { hide: true } }
const TokenQuery = t.Object({ token: t.Optional(t.String({ maxLength: 100 })) })

/** Pages for apps without deep links: each a form that posts to where it is. */
export function pageRoutes({ people, ipOf, deleteAccount }: PeopleRoutesDeps) {
  const { addresses, passwordLogin, proof, twoFactor } = people
  return new Elysia({ name: 'auth-pages' })
    .get('/auth/verify', ({ set, query }) => page(set, verifyPage(query.token ?? '')), {
      query: TokenQuery,
      ...hidden,
    })
    .post(
      '/auth/verify',
      async ({ set, request }) =>
        answer(set, async () => {
          const form = await readForm(request)
          await addresses.verify(form('token'))
          return 'The address is confirmed. You can go back to the app.'
        }),
      { parse: 'none', ...hidden },
    )
    .get('/auth/cancel', ({ set, query }) => page(set, cancelPage(query.token ?? '')), {
      query: TokenQuery,
      ...hidden,
    })
    .post(
      '/auth/cancel',
      async ({ set, request }) =>
        answer(set, async () => {
          const form = await readForm(request)
          await addresses.cancelChange(form('token'))
          return 'The address stays as it is. Choose a new password: somebody knows yours.'
        }),
      { parse: 'none', ...hidden },
    )
    .get('/auth/reset', ({ set, query }) => page(set, resetPage(query.token ?? '')), {
      query: TokenQuery,
      ...hidden,
    })
    .post(
      '/auth/reset',
      async ({ set, request }) =>
        answer(set, async () => {
          const form = await readForm(request)
          await passwordLogin.set(form('token'), form('newPassword'))
          return 'The password is set. Sign in with it in the app.'
        }),
      { parse: 'none', ...hidden },
    )
    .get('/account/delete', ({ set }) => page(set, deletePage()), hidden)
    .post(
      '/account/delete',
      async ({ set, request, server }) =>
        answer(set, async () => {
          const form = await readForm(request)
          const ip = ipOf(request, server)
          const userId = await prove(form('email'), form('password'), form('code'), ip)
          await deleteAccount(userId)
          return 'Your account and everything in it is deleted.'
        }),
      { parse: 'none', ...hidden },
    )

  /** The user of a password and, where two-factor is on, of a code. */
  async function prove(email: string, password: string, code: string, ip: string) {
    const user = await proof.prove(email, password, ip)
    if (user.twoFactorSince !== null) await twoFactor.prove(user.id, code)
    return user.id
  }
}

async function readForm(request: Request): Promise<(field: string) => string> {
  const bytes = await readBody(request, FORM_LIMIT)
  const form = new URLSearchParams(Buffer.from(bytes).toString('utf8'))
  return (field) => form.get(field) ?? ''
}

/** What is refused is said on a page as well. */
async function answer(set: Context['set'], work: () => Promise<string>): Promise<Response> {
  try {
    return page(set, resultPage(await work()))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return page(set, resultPage(error.message), STATUS[error.code])
  }
}

function page(set: Context['set'], html: string, status = 200): Response {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': PAGE_CSP,
    // The address of these pages holds a token.
    'referrer-policy': 'no-referrer',
  }
  return rawReply(set, html, headers, status)
}
