import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

/** The path of an installed browser, or null: then tests that need one are skipped. */
export const CHROMIUM = Bun.which('chromium') ?? Bun.which('google-chrome')

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--disable-popup-blocking',
  // Tests open background tabs, whose timers would be throttled to once per second.
  '--disable-background-timer-throttling',
]

/** Opens a page in a new profile until the returned object is disposed. */
export async function openPage(url: string) {
  const profile = await mkdtemp(join(tmpdir(), 'homeport-browser-'))
  const browser = Bun.spawn([CHROMIUM ?? '', ...FLAGS, `--user-data-dir=${profile}`, url], {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  return {
    async [Symbol.asyncDispose]() {
      browser.kill('SIGKILL')
      await browser.exited
      await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
}

/** Bundles a script for the browser. */
export async function bundle(entry: string): Promise<string> {
  const built = await Bun.build({ entrypoints: [entry], target: 'browser', minify: true })
  return (await built.outputs[0]?.text()) ?? ''
}

/** Opens a page that tests can click and type into, until it is disposed. */
export function openView() {
  return new Bun.WebView({
    width: 1280,
    height: 1200,
    backend: { type: 'chrome', path: CHROMIUM ?? '', argv: FLAGS },
  })
}

/** Clicks an element once it exists, even if it is outside the viewport. */
export async function press(view: Bun.WebView, selector: string) {
  await waitForElement(view, selector)
  await view.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
}

/** Waits for an element, and returns its text. */
export async function waitForElement(view: Bun.WebView, selector: string): Promise<string> {
  const text = `document.querySelector(${JSON.stringify(selector)})?.innerText`
  const found = `((text) => text === undefined ? null : { text })(${text})`
  const element = () => view.evaluate(found) as Promise<{ text: string } | null>
  return (await until(element, `the page did not show ${selector}`)).text
}
