import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createClient } from '../../src/client/client.ts'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { bundle, CHROMIUM, openPage } from '../support/browser.ts'
import { networkTo } from '../support/network.ts'
import { simulateDelay, until } from '../support/until.ts'

type Outcome = { heard: string[]; isSignedIn: boolean; failure?: string }

/** Frames of one origin share storage, locks and channels, as tabs do. */
const PAGE = `<!doctype html><title>x</title><iframe src="/tab"></iframe><iframe src="/tab"></iframe>
<script>onload = async () => {
  const heard = []
  try {
    const [here, there] = [...document.querySelectorAll('iframe')].map((frame) => frame.contentWindow.api)
    there.onAuthChange(({ reason }) => heard.push(reason))
    await here.startAsGuest()
    for (let round = 0; round < 5; round++) await Promise.all([here.refresh(), there.refresh()])
    await here.logout()
    for (let tries = 0; tries < 100 && heard.at(-1) !== 'signed_out'; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await fetch('/outcome', { method: 'POST', body: JSON.stringify({ heard, isSignedIn: await there.isSignedIn() }) })
  } catch (error) {
    await fetch('/outcome', { method: 'POST', body: JSON.stringify({ failure: String(error) }) })
  }
}</script>`

const ROUNDS = 12
const EVERY_CHANGE = ['signed_in', ...Array(ROUNDS).fill('refreshed'), 'signed_out']
/** Tabs opened separately are separate processes, whose storages synchronize with a delay. */
const SPEAKER = `<!doctype html><title>x</title><script type="module">import '/tab.js'
const ack = new BroadcastChannel('heard')
/** Resolves once the other tab has received the change, or after a timeout. */
const changeAndWait = (change) => Promise.all([change(), new Promise((resolve) => {
  ack.onmessage = resolve
  setTimeout(resolve, 3_000)
})])
await changeAndWait(() => api.startAsGuest())
for (let round = 0; round < ${ROUNDS}; round++) await changeAndWait(() => api.refresh())
await api.logout()
</script>`
const LISTENER = `<!doctype html><title>x</title><script type="module">import '/tab.js'
const heard = []
const sendOutcome = async () => fetch('/outcome', { method: 'POST', body: JSON.stringify({ heard, isSignedIn: await api.isSignedIn() }) })
const ack = new BroadcastChannel('heard')
api.onAuthChange(({ reason }) => {
  heard.push(reason)
  ack.postMessage(reason)
  if (reason === 'signed_out') sendOutcome()
})
open('/speaker', '_blank', 'noopener')
setTimeout(sendOutcome, 15_000)
</script>`
const TAB = '<!doctype html><title>x</title><script type="module" src="/tab.js"></script>'

test.skipIf(CHROMIUM === null)(
  'tabs share one refresh and are notified of changes in other tabs',
  async () => {
    await using app = await createTestApp()
    const site = await serveSite(app)
    try {
      await using _page = await openPage(`${site.url}/`)
      const { heard, isSignedIn, failure } = await site.outcome
      expect(failure).toBeUndefined()
      expect(site.refreshes()).toBe(5)
      expect([heard[0], heard.includes('refreshed'), heard.at(-1), isSignedIn]).toEqual([
        'signed_in',
        true,
        'signed_out',
        false,
      ])
    } finally {
      await site.stop()
    }
  },
  30_000,
)

test.skipIf(CHROMIUM === null)(
  'a tab in another process is notified of every change',
  async () => {
    await using app = await createTestApp()
    const site = await serveSite(app)
    try {
      await using _page = await openPage(`${site.url}/listener`)
      const { heard, isSignedIn } = await site.outcome
      expect(heard).toEqual(EVERY_CHANGE)
      expect(isSignedIn).toBe(false)
    } finally {
      await site.stop()
    }
  },
  30_000,
)

test('reports a change even if the storage returns it late', async () => {
  await using app = await createTestApp()
  const [here, there] = [createMemoryStorage(), createMemoryStorage()]
  const late = {
    getItem: there.getItem,
    setItem: (key: string, value: string) => {
      void here.setItem(key, value)
      void simulateDelay(40).then(() => there.setItem(key, value))
    },
    removeItem: (key: string) => {
      void here.removeItem(key)
      void simulateDelay(40).then(() => there.removeItem(key))
    },
  }
  const { fetch } = networkTo(app)
  const options = { baseUrl: 'http://localhost', fetch }
  const speaker = createClient({ ...options, storage: { ...late, getItem: here.getItem } })
  const heard: string[] = []
  createClient({ ...options, storage: there }).onAuthChange(({ reason }) => heard.push(reason))
  await speaker.startAsGuest()
  await until(() => heard.length === 1, 'the sign-in is not reported')
  await speaker.logout()
  await until(() => heard.length === 2, 'the sign-out is not reported')
  expect(heard).toEqual(['signed_in', 'signed_out'])
})

test('tabs with separate storages are not notified of each other’s changes', async () => {
  await using app = await createTestApp()
  const { fetch } = networkTo(app)
  const tab = () =>
    createClient({ baseUrl: 'http://localhost', fetch, storage: createMemoryStorage() })
  const [here, signedIn, signedOut] = [tab(), tab(), tab()]
  const heard: string[] = []
  await signedIn.startAsGuest()
  for (const other of [signedIn, signedOut]) other.onAuthChange(({ reason }) => heard.push(reason))
  const own: string[] = []
  here.onAuthChange(({ reason }) => own.push(reason))
  await here.startAsGuest()
  await here.logout()
  await until(() => own.includes('signed_out'), 'the tab itself is not notified')
  await simulateDelay(100)
  expect(heard).toEqual([])
})

/** Serves the pages above, and passes API requests on to the app. */
async function serveSite(app: TestApp) {
  const script = await bundle(join(import.meta.dir, '..', 'support', 'tab-page.ts'))
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  let refreshes = 0
  const pages: Record<string, string> = {
    '/': PAGE,
    '/tab': TAB,
    '/speaker': SPEAKER,
    '/listener': LISTENER,
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname.startsWith('/api/')) {
        if (pathname.includes('/refresh/')) refreshes++
        return app.app.handle(new Request(`http://localhost${pathname}`, request))
      }
      if (pathname === '/outcome') resolve((await request.json()) as Outcome)
      const isScript = pathname === '/tab.js'
      const headers = { 'content-type': isScript ? 'text/javascript' : 'text/html' }
      return new Response(isScript ? script : pages[pathname], { headers })
    },
  })

  const late = simulateDelay(20_000).then(() => ({ failure: 'the page did not report' }) as Outcome)
  return {
    url: `http://127.0.0.1:${server.port}`,
    outcome: Promise.race([promise, late]),
    refreshes: () => refreshes,
    stop: () => server.stop(true),
  }
}
