import type { Context } from 'elysia'
import { sha256 } from '../../../lib/crypto/hash.ts'
import { rawReply } from '../replies/raw-reply.ts'

const STYLE = `body{font:17px/1.5 system-ui,sans-serif;max-width:26rem;margin:12vh auto;padding:0 1rem;color:#222}
h1{font-size:1.4rem}label{display:block;margin:1rem 0 .2rem}code{overflow-wrap:anywhere}input{width:100%;box-sizing:border-box;font:inherit;padding:.5rem}
button{margin-top:1.5rem;font:inherit;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#2a6f97;color:#fff}
.error{color:#a3281d}a{color:#2a6f97}footer{margin-top:3rem;color:#666;font-size:.9rem}
@media(prefers-color-scheme:dark){body{background:#161819;color:#e4e4e4}a{color:#7db7d8}.error{color:#f08a80}footer{color:#999}}`

/** Only the empty icon is loaded, and no other scripts run; forms may only post to their own origin. */
const CSP = `default-src 'none'; img-src data:; style-src 'sha256-${sha256(STYLE, 'base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** `content` and `footer` are HTML. */
type Page = {
  title: string
  content: string
  footer: string
  language: string
  appName: string
  script?: string
}

export function sendPage(set: Context['set'], page: Page, status = 200): Response {
  const { title, content, footer, language, appName, script } = page
  const heading = Bun.escapeHTML(title)
  const html = `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${title === appName ? heading : `${heading} · ${Bun.escapeHTML(appName)}`}</title><link rel="icon" href="data:,"><style>${STYLE}</style></head>
<body><h1>${heading}</h1>${content}<footer>${footer}</footer>${script ? `<script>${script}</script>` : ''}</body></html>`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': script
      ? `${CSP}; script-src 'sha256-${sha256(script, 'base64')}'`
      : CSP,
    // The URL of a page may contain a token.
    'referrer-policy': 'no-referrer',
  }
  return rawReply(set, html, headers, status)
}
