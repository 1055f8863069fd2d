import { type ActiveSubscription, filterCharged } from '../../../lib/active-subscriptions.ts'
import type { PageTexts } from './texts.ts'

export type TokenPage = 'verify' | 'cancel' | 'reset'

type PageContent = { title: string; content: string }

/** A page whose form posts to its own URL. `error` is from the last attempt. */
export function tokenPage(
  texts: PageTexts,
  page: TokenPage,
  token: string,
  error?: string,
): PageContent {
  const { title, button } = texts[page]
  const input = `<input type="hidden" name="token" value="${Bun.escapeHTML(token)}">`
  const password = field('newPassword', texts.newPassword, 'password', 'new-password')
  const inputs = page === 'reset' ? input + password : input
  return { title, content: form(`/auth/${page}`, inputs, button, error) }
}

/** How many days logs and backups keep the data of a deleted account. */
export type Retention = { audit: number; backups: number }

/** The account deletion form. It asks for the password or, once a code has been sent, for the code. */
export function deletePage(
  texts: PageTexts,
  { audit, backups }: Retention,
  { email = '', requestToken = '' },
  error?: string,
): PageContent {
  const { title, button } = texts.delete
  const isSent = requestToken !== ''
  const fields = [
    field('email', texts.email, 'email', 'username', `required value="${Bun.escapeHTML(email)}"`),
    isSent
      ? `<input type="hidden" name="requestToken" value="${Bun.escapeHTML(requestToken)}">${field('emailCode', texts.emailCode, 'text', 'one-time-code')}`
      : field('password', texts.password, 'password', 'current-password'),
    field('code', texts.code, 'text', 'one-time-code', ''),
  ]
  const send = `<p>${isSent ? texts.codeSent : texts.otherWays}</p><button name="send" value="code" formnovalidate>${texts.sendCode}</button>`
  const kept = texts.kept.replace('{audit}', `${audit}`).replace('{backups}', `${backups}`)
  const formHtml = form('/account/delete', fields.join(''), button, error, send)
  return { title, content: `<p>${texts.deleteWarning}</p><p>${kept}</p>${formHtml}` }
}

/** Links to the app from a web page, because mail services remove links that open apps. */
export function invitationPage(
  texts: PageTexts,
  appLink: string | null,
  token: string,
): PageContent {
  const { title, button, text } = texts.invitation
  const href = `${appLink}/invitation?token=${encodeURIComponent(token)}`
  const link = appLink === null ? '' : `<p><a href="${Bun.escapeHTML(href)}">${button}</a></p>`
  return { title, content: `<p>${text}</p>${link}` }
}

export function resultPage(title: string): PageContent {
  return { title, content: '' }
}

/** `subscriptions`: those that the stores may keep charging for. */
export function deletedPage(texts: PageTexts, subscriptions: ActiveSubscription[]): PageContent {
  const items = filterCharged(subscriptions).map(({ name, managementUrl: url }) => {
    const text = Bun.escapeHTML(name)
    return `<li>${url ? `<a href="${url}">${text}</a>` : text}</li>`
  })
  if (items.length === 0) return resultPage(texts.deleted)
  return { title: texts.deleted, content: `<p>${texts.goesOn}</p><ul>${items.join('')}</ul>` }
}

function form(action: string, inputs: string, button: string, error?: string, after = '') {
  const alert = error ? `<p class="error" role="alert">${Bun.escapeHTML(error)}</p>` : ''
  return `${alert}<form method="post" action="${action}">${inputs}<button>${button}</button>${after}</form>`
}

function field(
  name: string,
  label: string,
  type: string,
  autocomplete: string,
  extra = 'required',
) {
  return `<label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" ${extra}>`
}
