import { afterAll, beforeAll, test } from 'bun:test'
import type { BrowserContextOptions } from 'playwright-core'
import { CHROMIUM } from './browser.ts'
import { type ConsoleBrowser, openBrowser } from './console-browser.ts'
import { buildExecutable, installExecutable } from './executable.ts'
import { sendToConsole, setUpOperator } from './operator.ts'

export type Console = Awaited<ReturnType<typeof startConsole>>

const TEST_TIMEOUT_MS = 420_000
/** More concurrent pages are slower in total. */
const MAX_CONCURRENT = 3

let freeSlots = MAX_CONCURRENT
const waiting: (() => void)[] = []

/** A test that needs a browser; skipped without Chromium. */
export function browserTest(name: string, run: () => Promise<void>) {
  test.skipIf(CHROMIUM === null)(name, run, TEST_TIMEOUT_MS)
}

/** A browser test that can run in parallel with the others of its file. */
export function independentTest(name: string, run: () => Promise<void>) {
  test.concurrent.skipIf(CHROMIUM === null)(name, () => withSlot(run), TEST_TIMEOUT_MS)
}

async function withSlot(run: () => Promise<void>) {
  if (freeSlots > 0) freeSlots--
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    await run()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else freeSlots++
  }
}

/** A server and a browser for all tests of a file. Pages are signed in as the owner `olga`, unless `hasNoOwner`. */
export function useConsole({
  args = ['serve', '--demo'],
  environment = {},
  hasNoOwner = false,
}: StartOptions & { hasNoOwner?: boolean } = {}) {
  const stack = new AsyncDisposableStack()
  let started: { console: Console; browser: ConsoleBrowser; cookie: string } | null = null
  beforeAll(async () => {
    if (CHROMIUM === null) return
    const [console, browser] = await Promise.all([
      startConsole({ args, environment }),
      openBrowser(),
    ])
    stack.use(console)
    stack.use(browser)
    started = { console, browser, ...(hasNoOwner ? { cookie: '' } : await console.signUp('olga')) }
  }, 90_000)
  afterAll(() => stack.disposeAsync())
  const world = () => started as NonNullable<typeof started>
  return {
    get console() {
      return world().console
    },
    open,
    openSignedOut,
    get cookie() {
      return world().cookie
    },
    ask,
  }

  /** A page that is signed in as `olga`. */
  async function open(options: BrowserContextOptions = {}) {
    const opened = await openSignedOut(options)
    const [name = '', value = ''] = world().cookie.split('=')
    const attributes = { url: world().console.url, httpOnly: true }
    await opened.context.addCookies([{ name, value, sameSite: 'Strict', ...attributes }])
    return opened
  }

  function openSignedOut(options: BrowserContextOptions = {}) {
    return world().browser.open({ baseURL: world().console.url, ...options })
  }

  /** Calls the console's API as `olga`; fails unless it answers 200. */
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  async function ask(path: string, json?: unknown): Promise<any> {
    const { console, cookie } = world()
    return (await console.ask(path, json, { cookie })).response
  }
}

type StartOptions = { args?: string[]; environment?: Record<string, string> }

/** The executable, started so that a local browser can open its console. */
export async function startConsole({ args = [], environment = {} }: StartOptions = {}) {
  await buildExecutable()
  const homeport = await installExecutable()
  const settings = { RATE_LIMITS: 'off', ...environment }
  let server = await homeport.start(settings, [], args)
  const { port } = server
  const url = `http://localhost:${port}`
  return {
    url,
    port,
    server,
    linkFor,
    signUp,
    ask,
    stop: () => server.stop(),
    restart,
    [Symbol.asyncDispose]: homeport[Symbol.asyncDispose],
  }

  async function restart() {
    server = await homeport.start({ ...settings, PORT: String(port) }, [], args)
  }

  /** Adds or resets an operator, and returns the printed link. An earlier attempt of a test may have added them. */
  async function linkFor(name: string, command: 'add' | 'reset' = 'add'): Promise<string> {
    const confirmation = command === 'reset' ? ['--yes'] : []
    const { stdout, stderr } = await homeport.run(['operators', command, name, ...confirmation])
    const link = /\S+#setup=\S+/.exec(stdout)?.[0]
    if (link) return link
    if (command === 'add' && stderr.includes('already')) return linkFor(name, 'reset')
    throw new Error(stderr)
  }

  /** Adds an operator with a passkey and returns the session's cookie. */
  async function signUp(name: string): Promise<{ cookie: string }> {
    const token = (await linkFor(name)).split('=').at(-1) ?? ''
    return { cookie: await setUpOperator(url, token) }
  }

  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  async function ask(path: string, json?: unknown, headers = {}): Promise<any> {
    const reply = await sendToConsole(url, path, json, headers)
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${await reply.text()}`)
    return reply.json()
  }
}
