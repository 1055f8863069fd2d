import { Elysia } from 'elysia'
import { notFound } from './errors.ts'
import { sendPage } from './page.ts'

const LINKS = [
  { path: '/docs', about: 'the interface, to read and to try' },
  { path: '/docs/json', about: 'the same for generators (OpenAPI)' },
  { path: '/ready', about: 'whether every part works' },
]

/** `/`: somebody who opens the address in a browser sees what it is; for programs there is nothing. */
export function home({ appName, version }: { appName: string; version: string }) {
  const items = LINKS.map(({ path, about }) => `<li><a href="${path}">${path}</a>: ${about}</li>`)
  const footer = `Homeport ${Bun.escapeHTML(version)}`
  const page = {
    title: appName,
    content: `<ul>${items.join('')}</ul>`,
    footer,
    language: 'en',
    appName,
  }
  return new Elysia({ name: 'home' }).get(
    '/',
    ({ request, set }) => {
      if (!request.headers.get('accept')?.includes('text/html')) throw notFound()
      return sendPage(set, page)
    },
    { detail: { hide: true } },
  )
}
