import { expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readExample, report, run, startAppProjects } from '../support/app-projects.ts'
import { CHROMIUM } from '../support/browser.ts'
import { openBrowser, press } from '../support/console-browser.ts'
import { freePort } from '../support/executable.ts'
import { startStripe } from '../support/stripe/stripe.ts'
import { plan, STRIPE_PATH } from '../support/stripe/world.ts'

/** An app that sells a plan on the pages of a fake Stripe. Needs npm and its registry, and Chromium. */
const MINUTES = 60_000
/** The longest time from the return to the app until it shows the purchase. */
const MAX_WAIT_MS = 1_000

const TSC_OPTIONS =
  '--noEmit --strict --jsx react-jsx --module preserve --moduleResolution bundler --lib esnext,dom'.split(
    ' ',
  )

const MAIN = (apiUrl: string) => `
import { createClient } from 'homeport-client'
import { HomeportProvider, useClient, useSession } from 'homeport-client/react'
import { createRoot } from 'react-dom/client'
import { Shop } from './shop'

const api = createClient({ baseUrl: '${apiUrl}', storage: localStorage })
const account = () => ({ email: \`\${crypto.randomUUID()}@example.com\`, password: 'correct horse battery' })

function App() {
  const { data: session } = useSession()
  if (!session) return null
  return session.isSignedIn ? <Shop /> : <button onClick={() => api.register(account())}>Sign up</button>
}

createRoot(document.getElementById('root')!).render(<HomeportProvider client={api}><App /></HomeportProvider>)
`

test.skipIf(CHROMIUM === null)(
  'a web app sells a plan, shows it within a second of the return, and says when it ends after a cancellation',
  async () => {
    const [port, webPort] = [freePort(), freePort()]
    const origin = `http://localhost:${webPort}`
    await using projects = await startAppProjects()
    const { homeport, server } = projects
    const app = await makeApp(projects.make, `http://localhost:${port}`)
    await server.stop()
    await using stripe = startStripe({
      clock: {
        get now() {
          return new Date()
        },
        advance() {},
      },
      webhookUrl: `http://127.0.0.1:${port}${STRIPE_PATH}`,
    })
    const variables = { PORT: String(port), CORS_ORIGINS: origin, CHECKOUT_ORIGINS: origin }
    await homeport.start({ ...variables, ...stripe.environment })
    const [free] = JSON.parse((await homeport.run(['plans', 'export'])).stdout)
    const { id: price } = stripe.createPrice({ amount: 999 })
    const pro = { ...free, name: 'Pro', ...plan('pro', price, { price: 9.99 }) }
    const published = await homeport.run(['plans', 'publish', '-'], {}, JSON.stringify([free, pro]))
    expect(published.exitCode).toBe(0)
    using _web = serveApp(app, webPort)
    await using browser = await openBrowser()

    const ann = await buy('ann')
    await press(ann, 'Manage')
    await press(ann, 'Cancel at the end of the period')
    await ann.getByText('Your subscription was changed.').waitFor()
    await stripe.deliver()
    await ann.getByRole('link', { name: 'Return' }).click()
    await ann.getByText(/^Pro: ends on \d/).waitFor()

    stripe.webhooks.probabilities.lost = 1
    await buy('bob, whose event is lost')
    await report(app, 'Vite', 'vite')

    async function buy(who: string) {
      const { page } = await browser.open()
      await page.goto(origin)
      await press(page, 'Sign up')
      await press(page, 'Buy Pro for 9.99 USD')
      await press(page, 'Pay')
      await page.waitForURL(`${origin}/done**`, { waitUntil: 'commit' })
      const returnedAt = performance.now()
      await page.getByText(/^Pro: renews on \d/).waitFor({ timeout: MAX_WAIT_MS })
      console.log(`${who}: access after ${Math.round(performance.now() - returnedAt)} ms`)
      return page
    }
  },
  8 * MINUTES,
)

async function makeApp(
  make: (name: string, ...dependencies: string[]) => Promise<string>,
  apiUrl: string,
): Promise<string> {
  const app = await make(
    'shop',
    'vite@8',
    '@vitejs/plugin-react@6',
    'typescript@7',
    'react@19',
    'react-dom@19',
    '@types/react@19',
    '@types/react-dom@19',
  )
  const files = {
    'checkout.ts': await readExample('checkout.ts', 'web-checkout.md'),
    'shop.tsx': await readExample('shop.tsx', 'client-react.md'),
    'main.tsx': MAIN(apiUrl),
    'index.html':
      '<!doctype html><title>Shop</title><div id="root"></div><script type="module" src="/main.tsx"></script>',
    'vite.config.js': `import react from '@vitejs/plugin-react'\nexport default { plugins: [react()] }`,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(app, name), text)
  run(app, 'npx', 'tsc', ...TSC_OPTIONS, 'main.tsx')
  run(app, 'npx', 'vite', 'build')
  return app
}

/** Serves the app for every path without a file. */
function serveApp(app: string, port: number) {
  return Bun.serve({
    port,
    async fetch({ url }) {
      const file = Bun.file(join(app, 'dist', new URL(url).pathname))
      const isFile = (await file.exists()) && (await file.stat()).isFile()
      return new Response(isFile ? file : Bun.file(join(app, 'dist/index.html')))
    },
  })
}
