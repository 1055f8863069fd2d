import { type Context, Elysia, t } from 'elysia'
import { AppError, STATUS } from '../../../lib/errors.ts'
import { readBody } from '../../../platform/http/body/body.ts'
import { sendPage } from '../../../platform/http/pages/page.ts'
import { hidden } from '../../../platform/http/replies/envelope.ts'
import { openQuery } from '../../../platform/http/request/query.ts'
import type { UserRoutesDeps } from '../routes/deps.ts'
import { createOriginReader } from '../routes/origin.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'
import {
  deletedPage,
  deletePage,
  invitationPage,
  resultPage,
  type TokenPage,
  tokenPage,
} from './templates.ts'
import { type PageTexts, pageTexts } from './texts.ts'

type RequestContext = Pick<Context, 'set' | 'request'>

const MAX_FORM_BYTES = 4 * 1024
const TokenQuery = openQuery({ token: t.Optional(t.String()) })

/** Pages for apps without deep links, each a form that posts to its own URL. */
export function pageRoutes(deps: UserRoutesDeps) {
  const { users, deleteAccount, appName, chooseLanguage, translate, retention } = deps
  const { addresses, emailCodes, passwordLogin, proof, twoFactor } = users
  const readOrigin = createOriginReader(deps)
  const pages = new Elysia({ name: 'auth-pages' })
  for (const name of ['verify', 'cancel', 'reset'] as const) {
    pages
      .get(`/auth/${name}`, (context) => open(context, name, context.query.token), tokenQuery)
      .post(`/auth/${name}`, (context) => submit(context, name), unparsed)
  }
  return pages
    .get(
      '/auth/invitation',
      (context) => open(context, 'invitation', context.query.token),
      tokenQuery,
    )
    .get(
      '/account/delete',
      (context) => page(context, deletePage(textsFor(context), retention, {})),
      hidden,
    )
    .post(
      '/account/delete',
      (context) => submitDeletion(context, readOrigin(context.request, context.server)),
      unparsed,
    )

  /** Shows the form for a link, or why the link does not work. Opening it does not consume the token. */
  async function open(context: RequestContext, name: TokenPage | 'invitation', token = '') {
    const texts = textsFor(context)
    if (name === 'verify' && (await addresses.isConfirmedBy(token)))
      return page(context, resultPage(texts.alreadyVerified))
    const error = await catchFailure(() => addresses.requireLink(name, token), context)
    if (error) return page(context, resultPage(error.sentence), error.status)
    return page(
      context,
      name === 'invitation'
        ? invitationPage(texts, addresses.appLink, token)
        : tokenPage(texts, name, token),
    )
  }

  /** Handles a submitted form. Shows it again after an invalid field, but not after a used link. */
  async function submit(context: RequestContext, name: TokenPage) {
    const texts = textsFor(context)
    const form = await readForm(context.request)
    const token = form('token')
    let isFirstUse = true
    const error = await catchFailure(async () => {
      if (name === 'verify') isFirstUse = await addresses.verify(token)
      else if (name === 'cancel') await addresses.cancelChange(token)
      else await passwordLogin.reset(token, form('newPassword'))
    }, context)
    const { verified, cancelled, wasReset, alreadyVerified } = texts
    const resultText = { verify: verified, cancel: cancelled, reset: wasReset }[name]
    if (!error) return page(context, resultPage(isFirstUse ? resultText : alreadyVerified))
    const { sentence, status } = error
    const isLinkUsed = status === STATUS.unauthenticated
    const nextPage = isLinkUsed ? resultPage(sentence) : tokenPage(texts, name, token, sentence)
    return page(context, nextPage, status)
  }

  /** The page works without scripts. */
  async function submitDeletion(context: RequestContext, origin: RequestOrigin) {
    const texts = textsFor(context)
    const form = await readForm(context.request)
    const email = form('email')
    let requestToken = form('requestToken')
    let deleted: ReturnType<typeof deletedPage> | null = null
    const error = await catchFailure(async () => {
      if (form('send') === 'code') {
        const language = chooseLanguage(context.request)
        const sent = await emailCodes.request(email, language, origin, 'deletion-code')
        requestToken = sent.requestToken
        return
      }
      const byCode = requestToken !== ''
      const user = byCode
        ? await emailCodes.prove({ requestToken, code: form('emailCode') }, origin)
        : await proof.prove(email, form('password'), origin)
      // The code is used up: without a two-factor code, the user needs another one.
      requestToken = ''
      // A stranger may have turned two-factor on for an address that is not theirs.
      const isStrangers = byCode && user.emailVerifiedAt === null
      if (user.twoFactorSince !== null && !isStrangers) await twoFactor.prove(user.id, form('code'))
      deleted = deletedPage(texts, await deleteAccount(user.id))
    }, context)
    if (deleted) return page(context, deleted)
    const content = deletePage(texts, retention, { email, requestToken }, error?.sentence)
    return page(context, content, error?.status)
  }

  function textsFor({ request }: RequestContext): PageTexts {
    return pageTexts(chooseLanguage(request))
  }

  function page(
    { set, request }: RequestContext,
    content: ReturnType<typeof resultPage>,
    status = 200,
  ) {
    const frame = { language: chooseLanguage(request), appName, footer: Bun.escapeHTML(appName) }
    return sendPage(set, { ...content, ...frame }, status)
  }

  /** Returns the error in the language of the page; null if `work` succeeded. */
  async function catchFailure(work: () => Promise<unknown>, { request }: RequestContext) {
    try {
      await work()
      return null
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const sentence = translate(error.message, chooseLanguage(request))
      return { sentence, status: STATUS[error.code] }
    }
  }
}

const tokenQuery = { query: TokenQuery, ...hidden }
const unparsed = { parse: 'none', ...hidden } as const

async function readForm(request: Request): Promise<(field: string) => string> {
  const bytes = await readBody(request, MAX_FORM_BYTES)
  const form = new URLSearchParams(Buffer.from(bytes).toString('utf8'))
  return (field) => form.get(field) ?? ''
}
