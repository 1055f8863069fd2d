import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { readExample, report, run, startAppProjects } from '../support/app-projects.ts'
import { bodyOf, lifecycle } from '../support/billing.ts'
import { CHROMIUM } from '../support/browser.ts'
import { openBrowser } from '../support/console-browser.ts'
import { freePort } from '../support/executable.ts'

/** Apps that start without a connection. Needs npm and its registry; the first needs Chromium. */
const MINUTES = 60_000
const DAY_MS = 86_400_000
/** The days after the purchase, which lasts 30 days, on which the app is started. */
const STARTS = [1, 4, 8, 12, 16, 20, 24, 28, 29.9, 30.1]
const EXPECTED = [true, true, true, true, true, true, true, true, true, false]

const VITE_MAIN = (apiUrl: string) => `
import { createClient } from 'homeport-client'
import { createRoot } from 'react-dom/client'
import { App } from './app'

const api = createClient({ baseUrl: '${apiUrl}', storage: localStorage })
Object.assign(globalThis, { api })
createRoot(document.getElementById('root')!).render(<App client={api} />)
`

test.skipIf(CHROMIUM === null)(
  'a web app built with Vite opens for a paying user in flight mode, until the subscription ends',
  async () => {
    await using projects = await startAppProjects()
    const { homeport, server } = projects
    const app = await projects.make(
      'flight',
      'vite@8',
      'vite-plugin-pwa@2',
      '@vitejs/plugin-react@6',
      'typescript@7',
      'react@19',
      'react-dom@19',
      '@types/react@19',
      '@types/react-dom@19',
    )
    await server.stop()
    const port = freePort()
    const origin = `http://localhost:${freePort()}`
    const environment = { PORT: String(port), CORS_ORIGINS: origin }
    const api = await homeport.start(environment)
    for (const name of ['app.tsx', 'sign-in-form.tsx', 'paywall.tsx', 'account.tsx'])
      await writeFile(join(app, name), await readExample(name, 'client-react.md'))
    await writeFile(join(app, 'main.tsx'), VITE_MAIN(`http://localhost:${port}`))
    await writeFile(join(app, 'vite.config.js'), await readExample('vite.config.js'))
    const head = '<!doctype html><html><head><title>App</title></head><body><div id="root"></div>'
    await writeFile(
      join(app, 'index.html'),
      `${head}<script type="module" src="/main.tsx"></script>`,
    )
    run(app, 'npx', 'vite', 'build')
    using _web = Bun.serve({
      port: Number(new URL(origin).port),
      async fetch({ url }) {
        const { pathname } = new URL(url)
        const file = Bun.file(join(app, 'dist', pathname === '/' ? 'index.html' : pathname))
        return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 })
      },
    })
    await using browser = await openBrowser()
    const { page } = await browser.open()
    page.setDefaultTimeout(30_000)
    await page.goto(origin)
    const email = 'ann@example.com'
    const user = await page.evaluate<string>(
      `api.register({ email: '${email}', password: 'correct horse battery' }).then(({ user }) => user._id)`,
    )
    const boughtAt = Date.now()
    const times = { event_timestamp_ms: boughtAt, purchased_at_ms: boughtAt }
    const event = {
      ...lifecycle(user, 'INITIAL_PURCHASE', 0),
      ...times,
      expiration_at_ms: boughtAt + 30 * DAY_MS,
    }
    const delivery = bodyOf(event as never)
    Object.assign(delivery.event, times)
    const { status } = await fetch(`${api.url}/api/webhooks/billing/v1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${WEBHOOK_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(delivery),
    })
    expect(status).toBe(200)
    await page.getByText(email).waitFor()
    await page.evaluate('navigator.serviceWorker.ready')
    await page.reload()
    await page.getByText(email).waitFor()

    await api.stop()
    await page.context().setOffline(true)
    await page.clock.install({ time: Date.now() })
    const seen: boolean[] = []
    for (const day of STARTS) {
      await page.clock.setSystemTime(boughtAt + day * DAY_MS)
      await page.reload()
      await page.getByText(email).or(page.getByText('Try again')).waitFor()
      seen.push(await page.getByText(email).isVisible())
    }
    console.log(`Chromium, started offline on days ${STARTS.join(', ')}: ${seen.join(', ')}`)
    expect(seen).toEqual(EXPECTED)
    await page.clock.setSystemTime(boughtAt + 2 * DAY_MS)
    await page.reload()
    await page.getByText('Try again').waitFor()
    await report(app, 'Vite', 'vite')
    await report(app, 'vite-plugin-pwa', 'vite-plugin-pwa')
  },
  8 * MINUTES,
)

/** Prints whether the app has access at each start; without WebCrypto, as in React Native. */
const PHONE_SCRIPT = `
import { createClient } from 'homeport-client'
import { createFakeServer } from 'homeport-client/testing'

async function main() {
  Object.defineProperty(globalThis, 'crypto', { value: undefined })
  const server = createFakeServer()
  const items = new Map()
  const storage = {
    getItem: async (key) => items.get(key) ?? null,
    setItem: async (key, value) => void items.set(key, value),
    removeItem: async (key) => void items.delete(key),
  }
  let now = server.now()
  const open = (fetch) => createClient({ baseUrl: server.url, fetch, now: () => now, storage })
  await open(server.fetch).register({ email: 'ann@example.com', password: 'correct horse battery' })
  server.grantSubscription('ann@example.com', { entitlement: 'pro' })
  await open(server.fetch).readSubscription()
  const startAt = async (day) => {
    now = server.now() + day * ${DAY_MS}
    const api = open(() => Promise.reject(new Error('offline')))
    const kept = await api.readKept('subscription', {}, { timeout: 100 }).catch(() => null)
    kept?.refreshed.catch(() => {})
    return kept?.data.entitlements.some(({ id, active }) => id === 'pro' && active) ?? false
  }
  const seen = []
  for (const day of ${JSON.stringify(STARTS)}) seen.push(await startAt(day))
  const setBack = await startAt(2)
  items.set('homeport.kept', items.get('homeport.kept').replace(/"seenAt":\\d+/, '"seenAt":0').replace(/"expiresAt":"[^"]+"/g, '"expiresAt":"2099-01-01T00:00:00.000Z"'))
  const edited = await startAt(40)
  await open(server.fetch).logout()
  console.log(JSON.stringify({ seen, setBack, edited, signedOut: await startAt(2) }))
}
main()
`

test(
  'a phone app bundled with Metro has access in flight mode, until the subscription ends',
  async () => {
    await using projects = await startAppProjects()
    const app = await projects.make(
      'flight-phone',
      'metro@0.84',
      '@babel/core@7',
      '@react-native/babel-preset@0.84',
      '@react-native/metro-babel-transformer@0.84',
    )
    await mkdir(app, { recursive: true })
    await writeFile(
      join(app, 'metro.config.js'),
      `module.exports = { transformer: { babelTransformerPath: require.resolve('@react-native/metro-babel-transformer') } }`,
    )
    await writeFile(
      join(app, 'babel.config.js'),
      `module.exports = { presets: ['module:@react-native/babel-preset'] }`,
    )
    await writeFile(join(app, 'index.js'), PHONE_SCRIPT)
    run(app, 'npx', 'metro', 'build', 'index.js', '--out', 'bundle', '--config', 'metro.config.js')
    const asScript = `require('node:vm').runInThisContext(require('node:fs').readFileSync('bundle.js', 'utf8'))`
    const rows = run(app, 'node', '-e', asScript)
    console.log(`Metro, started offline on days ${STARTS.join(', ')}: ${rows}`)
    expect(JSON.parse(rows)).toEqual({
      seen: EXPECTED,
      setBack: false,
      edited: false,
      signedOut: false,
    })
    await report(app, 'Metro', 'metro')
  },
  5 * MINUTES,
)
