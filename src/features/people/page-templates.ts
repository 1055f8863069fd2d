import { sha256 } from '../../lib/crypto.ts'

const STYLE = `body{font:17px/1.5 system-ui,sans-serif;max-width:26rem;margin:12vh auto;padding:0 1rem;color:#222}
h1{font-size:1.4rem}label{display:block;margin:1rem 0 .2rem}input{width:100%;box-sizing:border-box;font:inherit;padding:.5rem}
button{margin-top:1.5rem;font:inherit;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#2a6f97;color:#fff}`

/** Nothing is loaded and nothing runs; the form may only post to where it is. */
export const PAGE_CSP = `default-src 'none'; style-src 'sha256-${sha256(STYLE, 'base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

export function verifyPage(token: string): string {
  return layout(
    'Confirm your e-mail address',
    `<form method="post" action="/auth/verify">${hidden(token)}<button>Confirm</button></form>`,
  )
}

export function cancelPage(token: string): string {
  return layout(
    'Cancel the change of your e-mail address',
    `<form method="post" action="/auth/cancel">${hidden(token)}<button>Cancel the change</button></form>`,
  )
}

export function resetPage(token: string): string {
  const password = field('newPassword', 'New password', 'password', 'new-password')
  return layout(
    'Choose a new password',
    `<form method="post" action="/auth/reset">${hidden(token)}${password}<button>Set the password</button></form>`,
  )
}

export function deletePage(): string {
  const fields = [
    field('email', 'E-mail address', 'email', 'username'),
    field('password', 'Password', 'password', 'current-password'),
    field('code', 'Code, if you use two-factor', 'text', 'one-time-code', ''),
  ]
  return layout(
    'Delete your account',
    `<p>Your profile, your files and your sessions are removed at once and cannot be brought back.</p>
<form method="post" action="/account/delete">${fields.join('')}<button>Delete everything</button></form>`,
  )
}

export function resultPage(text: string): string {
  return layout(text, '')
}

function layout(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${Bun.escapeHTML(title)}</title><style>${STYLE}</style></head>
<body><h1>${Bun.escapeHTML(title)}</h1>${content}</body></html>`
}

function hidden(token: string): string {
  return `<input type="hidden" name="token" value="${Bun.escapeHTML(token)}">`
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
