import { sha256 } from '../../lib/crypto.ts'
import type { PageTexts } from './page-texts.ts'

const STYLE = `body{font:17px/1.5 system-ui,sans-serif;max-width:26rem;margin:12vh auto;padding:0 1rem;color:#222}
h1{font-size:1.4rem}label{display:block;margin:1rem 0 .2rem}input{width:100%;box-sizing:border-box;font:inherit;padding:.5rem}
button{margin-top:1.5rem;font:inherit;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#2a6f97;color:#fff}
.error{color:#a3281d}footer{margin-top:3rem;color:#666;font-size:.9rem}`

/** Nothing is loaded and nothing runs; the form may only post to where it is. */
export const PAGE_CSP = `default-src 'none'; style-src 'sha256-${sha256(STYLE, 'base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

export type TokenPage = 'verify' | 'cancel' | 'reset'

/** What every page says of where it belongs. */
export type Frame = { texts: PageTexts; language: string; appName: string }

/** A form that posts to where it is. `error`: what was wrong with the last try. */
export function tokenPage(frame: Frame, page: TokenPage, token: string, error?: string): string {
  const { texts } = frame
  const input = `<input type="hidden" name="token" value="${Bun.escapeHTML(token)}">`
  const password = field('newPassword', texts.newPassword, 'password', 'new-password')
  const inputs = page === 'reset' ? input + password : input
  return layout(frame, texts[page].title, form(`/auth/${page}`, inputs, texts[page].button, error))
}

export function deletePage(frame: Frame, email = '', error?: string): string {
  const { texts } = frame
  const fields = [
    field('email', texts.email, 'email', 'username', `required value="${Bun.escapeHTML(email)}"`),
    field('password', texts.password, 'password', 'current-password'),
    field('code', texts.code, 'text', 'one-time-code', ''),
  ]
  const content = form('/account/delete', fields.join(''), texts.delete.button, error)
  return layout(frame, texts.delete.title, `<p>${texts.deleteWarning}</p>${content}`)
}

export function resultPage(frame: Frame, text: string): string {
  return layout(frame, text, '')
}

function layout({ language, appName }: Frame, title: string, content: string): string {
  const name = Bun.escapeHTML(appName)
  const heading = Bun.escapeHTML(title)
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${heading} · ${name}</title><style>${STYLE}</style></head>
<body><h1>${heading}</h1>${content}<footer>${name}</footer></body></html>`
}

function form(action: string, inputs: string, button: string, error: string | undefined): string {
  const alert = error ? `<p class="error" role="alert">${Bun.escapeHTML(error)}</p>` : ''
  return `${alert}<form method="post" action="${action}">${inputs}<button>${button}</button></form>`
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
