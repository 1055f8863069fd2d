import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeEmptyApp, readExample, report, run } from '../support/app-projects.ts'
import { installClient } from '../support/client-package.ts'

/** The hooks in apps with React 18 and 19, in a browser's DOM and without one. Needs npm and its registry. */
const TEST = join(import.meta.dir, '..')
const MINUTES = 60_000

const EXAMPLES = {
  'client-react.md': [
    'app.tsx',
    'sign-in-form.tsx',
    'account.tsx',
    'paywall.tsx',
    'app.test.tsx',
    'queries.js',
  ],
  'client-testing.md': ['trial.test.ts', 'checkout.test.ts'],
}

/** Proves that the queries of the page work with the real library. */
const QUERIES_TEST = `
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { createClient } from 'homeport-client'
import { createFakeServer } from 'homeport-client/testing'
import { act } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, test } from 'vitest'
import { followServer, queries } from './queries.js'

globalThis.IS_REACT_ACT_ENVIRONMENT = true

test('queries follow the server and the session', async () => {
  const server = createFakeServer()
  const { url: baseUrl, fetch, now } = server
  const api = createClient({ baseUrl, fetch, now })
  const { user } = await api.register({ email: 'ann@example.com', password: 'correct horse battery' })
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  const stop = followServer(api, queryClient)
  const Access = () => {
    const { data } = useQuery(queries(api).subscription)
    return String(data?.entitlements.some(({ active }) => active))
  }
  const root = document.createElement('div')
  await act(async () =>
    createRoot(root).render(<QueryClientProvider client={queryClient}><Access /></QueryClientProvider>),
  )
  await expect.poll(() => root.textContent).toBe('false')
  await expect.poll(() => server.countConnections()).toBe(1)
  await act(async () => server.grantSubscription(user))
  await expect.poll(() => root.textContent).toBe('true')
  await act(() => api.logout())
  await expect.poll(() => root.textContent).toBe('undefined')
  stop()
  await expect.poll(() => server.countConnections()).toBe(0)
})
`

/** Renders the account of the page, and uploads a picture whose first response is lost. */
const ACCOUNT_TEST = `
import { fireEvent, render, screen } from '@testing-library/react'
import { createClient } from 'homeport-client'
import { HomeportProvider } from 'homeport-client/react'
import { createFakeServer } from 'homeport-client/testing'
import { expect, test } from 'vitest'
import { Account } from './account'

test('the account uploads a picture', async () => {
  const server = createFakeServer()
  const { url: baseUrl, fetch, now } = server
  const api = createClient({ baseUrl, fetch, now })
  await api.register({ email: 'ann@example.com', password: 'correct horse battery' })
  server.fail('uploadAttachments', { code: 'network_error', tookEffect: true })
  const { container } = render(<HomeportProvider client={api}><Account /></HomeportProvider>)
  await screen.findByText('ann@example.com')
  fireEvent.change(container.querySelector('input'), { target: { files: [new File(['picture'], 'a.png')] } })
  fireEvent.click(await screen.findByText('Try again'))
  const sentFiles = () =>
    server.requests
      .filter(({ operation }) => operation === 'uploadAttachments')
      .map(({ files }) => files[0].name)
  await expect.poll(sentFiles).toEqual(['a.png', 'a.png'])
  await expect.poll(() => screen.queryByText('Try again')).toBe(null)
  fireEvent.click(screen.getByText('Sign out'))
  await expect.poll(() => server.requests.at(-1).operation).toBe('logout')
})
`

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-react-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test.each([['18'], ['19']])(
  'the hooks work with React %s',
  async (major) => {
    const app = await makeEmptyApp(folder, `react${major}`)
    const packages = ['react', 'react-dom', 'react-test-renderer'].map((name) => `${name}@${major}`)
    const tools = [
      'vitest@4',
      'happy-dom@20',
      '@tanstack/react-query@5',
      '@testing-library/react@16',
      '@testing-library/dom@10',
    ]
    run(app, 'npm', 'install', '--no-audit', '--no-fund', ...packages, ...tools)
    await installClient(app)
    const settings = { resolve: { alias: { 'bun:test': 'vitest' } } }
    await writeFile(join(app, 'vitest.config.mjs'), `export default ${JSON.stringify(settings)}`)
    for (const name of ['client/react.test.ts', 'support/render-hooks.ts', 'support/until.ts'])
      await cp(join(TEST, name), join(app, name))
    const vitest = (environment: string, ...files: string[]) =>
      run(app, 'npx', 'vitest', 'run', '--environment', environment, ...files)
    // React Native has no document.
    vitest('node', 'client')
    vitest('happy-dom', 'client')

    await cp(join(TEST, 'fixtures/client/hydration.js'), join(app, 'hydration.test.js'))
    for (const [page, names] of Object.entries(EXAMPLES))
      for (const name of names) await writeFile(join(app, name), await readExample(name, page))
    await writeFile(join(app, 'queries.test.jsx'), QUERIES_TEST)
    await writeFile(join(app, 'account.test.jsx'), ACCOUNT_TEST)
    const files = ['hydration', 'app', 'queries', 'account', 'trial', 'checkout']
    expect(vitest('happy-dom', ...files, '--globals')).toMatch(/Tests.*6 passed/)
    await report(app, 'React', 'react')
    await report(app, 'TanStack Query', '@tanstack/react-query')
  },
  5 * MINUTES,
)
