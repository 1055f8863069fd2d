import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { notFound } from '../../../lib/errors.ts'
import { hidden } from '../replies/envelope.ts'
import { isLocal } from '../request/client-address.ts'
import { sendPage } from './page.ts'

const LINKS = [
  { path: '/docs', about: 'API reference' },
  { path: '/docs/json', about: 'OpenAPI document for code generators' },
  { path: '/ready', about: 'health of every component' },
]

/** Browsers offer the clipboard over https and on localhost only. */
const COPY = `const button = document.querySelector('button')
if (button && navigator.clipboard) {
  button.hidden = false
  button.onclick = async () => {
    await navigator.clipboard.writeText(document.querySelector('code').textContent)
    button.textContent = 'Copied'
  }
}`

const CLIENT = { path: '/client.tgz', about: 'client for apps in TypeScript and JavaScript' }

type HomeDeps = {
  appName: string
  version: string
  hasClient: boolean
  hasConsole: boolean
  hasOperators: () => Promise<boolean>
  /** The command that creates the first operator. */
  firstCommand: (isLocal: boolean) => string
}

/** Redirects browsers to the console, or shows how to create the first operator. Other clients get 404. */
export function home(deps: HomeDeps) {
  const { appName, version, hasClient, hasConsole, hasOperators, firstCommand } = deps
  const links = hasClient ? [...LINKS, CLIENT] : LINKS
  const items = links.map(({ path, about }) => `<li><a href="${path}">${path}</a>: ${about}</li>`)
  const footer = `Homeport ${Bun.escapeHTML(version)}`
  const list = `<ul>${items.join('')}</ul>`
  return new Elysia({ name: 'home' }).get(
    '/',
    async ({ request, server, set, redirect }) => {
      if (!request.headers.get('accept')?.includes('text/html')) throw notFound()
      if (hasConsole && (await hasOperators())) return redirect('/console')
      const isHere = isLocal(request, server as Server<unknown> | null)
      const content = hasConsole ? list + describeFirstOperator(firstCommand(isHere), isHere) : list
      const page = { title: appName, content, footer, language: 'en', appName }
      return sendPage(set, hasConsole ? { ...page, script: COPY } : page)
    },
    hidden,
  )
}

/** The terminal's link is mentioned only on the server's own machine: it works in no other browser. */
function describeFirstOperator(command: string, isHere: boolean): string {
  const run = isHere
    ? 'The terminal in which the server was started shows a link that creates the first operator. Or run'
    : 'To create the first operator and get a link, run'
  return `<p>Operators sign in to the console. ${run} this on the server, with a name of your choice:</p><p><code>${Bun.escapeHTML(command)}</code></p><button type="button" hidden>Copy</button>`
}
