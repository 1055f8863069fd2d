import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './executable.ts'
import { until } from './until.ts'

/** A browser with one page, which playwright cannot drive as Debian packages it. */
export type OtherBrowser = {
  goto: (url: string) => Promise<unknown>
  /** The value of an expression, awaited and as JSON. */
  evaluate: <T>(expression: string) => Promise<T>
  [Symbol.asyncDispose]: () => Promise<void>
}

type Installed = { name: string; isInstalled: boolean; open: () => Promise<OtherBrowser> }

const START_MS = 20_000
const FIREFOX = Bun.which('firefox-esr') ?? Bun.which('firefox')
const [MINI_BROWSER = ''] = new Bun.Glob('*/webkit2gtk-4.*/MiniBrowser').scanSync({
  cwd: '/usr/lib',
  absolute: true,
})

export const OTHER_BROWSERS: Installed[] = [
  { name: 'Firefox', isInstalled: FIREFOX !== null, open: openFirefox },
  {
    name: 'WebKit',
    isInstalled:
      MINI_BROWSER !== '' && ['WebKitWebDriver', 'Xvfb'].every((name) => Bun.which(name) !== null),
    open: openWebKit,
  },
]

/** Drives Firefox over WebDriver BiDi (https://w3c.github.io/webdriver-bidi). */
async function openFirefox(): Promise<OtherBrowser> {
  await using stack = new AsyncDisposableStack()
  const folder = await createFolder(stack)
  const flags = ['--headless', '--no-remote', '--remote-debugging-port=0', '--profile', folder]
  const waitForOutput = start(stack, folder, [FIREFOX ?? '', ...flags, 'about:blank'])
  const address = await waitForOutput(/ws:\/\/\S+/)
  const socket = stack.adopt(new WebSocket(`${address}/session`), (open) => open.close())
  const waiting = new Map<number, (reply: { result: object }) => void>()
  socket.onmessage = ({ data }) => {
    const reply = JSON.parse(data)
    waiting.get(reply.id)?.(reply)
  }
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  await send('session.new', { capabilities: {} })
  const { contexts } = await send('browsingContext.getTree')
  const { context } = contexts[0]
  const owned = stack.move()
  return {
    goto: (url) => send('browsingContext.navigate', { context, url, wait: 'complete' }),
    async evaluate(expression) {
      const target = { context }
      const call = { expression: asJson(expression), awaitPromise: true, target }
      return fromJson((await send('script.evaluate', call)).result.value)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }

  // biome-ignore lint/suspicious/noExplicitAny: results of every shape
  async function send(method: string, params: object = {}): Promise<any> {
    const id = waiting.size
    const replied = new Promise<{ result: object }>((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params }))
    return (await replied).result
  }
}

/** Drives WebKit over WebDriver (https://www.w3.org/TR/webdriver2), on its own screen. */
async function openWebKit(): Promise<OtherBrowser> {
  await using stack = new AsyncDisposableStack()
  const screen = ['-displayfd', '1', '-screen', '0', '1280x1000x24', '-nolisten', 'tcp']
  const display = await start(stack, await createFolder(stack), ['Xvfb', ...screen])(/\d+(?=\n)/)
  const port = freePort()
  // Its sandbox needs privileges that a container lacks.
  const WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS = '1'
  const environment = { DISPLAY: `:${display}`, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS }
  start(stack, await createFolder(stack), ['WebKitWebDriver', `--port=${port}`], environment)
  const ask = () => fetch(`http://127.0.0.1:${port}/status`).catch(() => null)
  await until(async () => (await ask())?.ok, 'WebKitWebDriver did not start', {
    deadlineMs: START_MS,
  })
  const options = { binary: MINI_BROWSER, args: ['--automation'] }
  const alwaysMatch = { 'webkitgtk:browserOptions': options }
  const { sessionId } = await send('POST', '', { capabilities: { alwaysMatch } })
  stack.defer(() => send('DELETE', `/${sessionId}`))
  const owned = stack.move()
  return {
    goto: (url) => send('POST', `/${sessionId}/url`, { url }),
    async evaluate(expression) {
      const script = `${asJson(expression)}.then(arguments[0])`
      return fromJson(await send('POST', `/${sessionId}/execute/async`, { script, args: [] }))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }

  // biome-ignore lint/suspicious/noExplicitAny: results of every shape
  async function send(method: string, path: string, body?: object): Promise<any> {
    const init = { method, ...(body ? { body: JSON.stringify(body) } : {}) }
    const reply = await fetch(`http://127.0.0.1:${port}/session${path}`, init)
    const { value } = (await reply.json()) as { value: object }
    if (!reply.ok) throw new Error(JSON.stringify(value))
    return value
  }
}

function asJson(expression: string): string {
  return `(async () => JSON.stringify({ value: await (${expression}) }))().catch((error) => JSON.stringify({ error: String(error) }))`
}

// biome-ignore lint/suspicious/noExplicitAny: values of every shape
function fromJson(text: string): any {
  const { value, error } = JSON.parse(text)
  if (error !== undefined) throw new Error(error)
  return value
}

async function createFolder(stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-browser-'))
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))
  return folder
}

/** Starts a process that ends with the stack; returns a function that waits for a match in its output. */
function start(
  stack: AsyncDisposableStack,
  folder: string,
  command: string[],
  environment: Record<string, string> = {},
) {
  const log = Bun.file(join(folder, 'log'))
  const env = { ...Bun.env, ...environment }
  const process = Bun.spawn(command, { env, stdout: log, stderr: log })
  stack.defer(async () => {
    process.kill()
    await process.exited
  })
  return async (pattern: RegExp): Promise<string> => {
    const find = async () => pattern.exec(await log.text())?.[0]
    return until(find, `${command[0]} did not start`, { deadlineMs: START_MS })
  }
}
