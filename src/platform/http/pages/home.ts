import { Elysia } from 'elysia'
import { notFound } from '../../../lib/errors.ts'
import { sendPage } from './page.ts'

const LINKS = [
  { path: '/docs', about: 'API reference' },
  { path: '/docs/json', about: 'OpenAPI document for code generators' },
  { path: '/ready', about: 'health of every component' },
]

const FIRST_OPERATOR =
  '<p>Operators sign in to the console. To create the first operator and get a sign-in link, run this on the server:</p><p><code>homeport operators add your-name</code></p>'

const CLIENT = { path: '/client.tgz', about: 'client for apps in TypeScript and JavaScript' }

type HomeDeps = {
  appName: string
  version: string
  hasClient: boolean
  hasConsole: boolean
  hasOperators: () => Promise<boolean>
}

/** Browsers go to the console, or see how to create the first operator. Other clients get 404. */
export function home({ appName, version, hasClient, hasConsole, hasOperators }: HomeDeps) {
  const links = hasClient ? [...LINKS, CLIENT] : LINKS
  const items = links.map(({ path, about }) => `<li><a href="${path}">${path}</a>: ${about}</li>`)
  const footer = `Homeport ${Bun.escapeHTML(version)}`
  const page = {
    title: appName,
    content: `<ul>${items.join('')}</ul>${hasConsole ? FIRST_OPERATOR : ''}`,
    footer,
    language: 'en',
    appName,
  }
  return new Elysia({ name: 'home' }).get(
    '/',
    async ({ request, set, redirect }) => {
      if (!request.headers.get('accept')?.includes('text/html')) throw notFound()
      return hasConsole && (await hasOperators()) ? redirect('/console') : sendPage(set, page)
    },
    { detail: { hide: true } },
  )
}
