import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp } from '../support/app.ts'
import { bundle, CHROMIUM, openPage } from '../support/browser.ts'

type Outcome = { heard: string[]; isSignedIn: boolean; failure?: string }

/** Frames of one origin share what tabs share: the storage, the locks and the channels. */
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
const TAB = '<!doctype html><title>x</title><script type="module" src="/tab.js"></script>'

test.skipIf(CHROMIUM === null)(
  'tabs refresh once for all of them, and hear of each other',
  async () => {
    await using app = await createTestApp()
    const script = await bundle(join(import.meta.dir, '..', 'support', 'tab-page.ts'))
    const { promise: outcome, resolve } = Promise.withResolvers<Outcome>()
    let refreshes = 0
    const types = { '/': PAGE, '/tab': TAB }
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
        return new Response(isScript ? script : types[pathname as '/'], { headers })
      },
    })
    try {
      await using _page = await openPage(`http://127.0.0.1:${server.port}/`)
      const late = Bun.sleep(20_000).then(() => ({ failure: 'the page says nothing' }) as Outcome)
      const { heard, isSignedIn, failure } = await Promise.race([outcome, late])
      expect(failure).toBeUndefined()
      expect(refreshes).toBe(5)
      expect([heard[0], heard.includes('refreshed'), heard.at(-1), isSignedIn]).toEqual([
        'signed_in',
        true,
        'signed_out',
        false,
      ])
    } finally {
      await server.stop(true)
    }
  },
  30_000,
)
