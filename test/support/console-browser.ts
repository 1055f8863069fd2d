import { type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { CHROMIUM } from './browser.ts'

export type ConsoleBrowser = Awaited<ReturnType<typeof openBrowser>>

/** Long, because the other tests slow the machine down. */
const TIMEOUT_MS = 10_000
/** A host name other than localhost that resolves to this machine. */
export const PLAIN_HOST = 'plain.example'

const POLICY = 'refused by the CSP:'
const reportViolations = `addEventListener('securitypolicyviolation', (event) =>
  console.error('${POLICY}', event.effectiveDirective, event.blockedURI, event.sample))`

export const LAUNCH = {
  executablePath: CHROMIUM ?? '',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
  ],
}

/** Chromium with a virtual authenticator for passkeys. */
export async function openBrowser() {
  const browser = await chromium.launch(LAUNCH)
  return { browser, open, [Symbol.asyncDispose]: () => browser.close() }

  /** A page in its own profile. `faults` collects its console errors and CSP violations. */
  async function open(options: BrowserContextOptions = {}) {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(TIMEOUT_MS)
    await context.addInitScript(reportViolations)
    const faults: string[] = []
    return { page: await newPage(), context, faults, newPage }

    async function newPage() {
      const page = await context.newPage()
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text())
      })
      page.on('pageerror', (error) => faults.push(String(error)))
      await addAuthenticator(page)
      return page
    }
  }
}

/** The CSP violations among the faults. */
export function violationsIn(faults: string[]): string[] {
  return faults.filter((fault) => fault.includes(POLICY) || fault.includes('Content Security'))
}

/** A platform authenticator that always consents (https://w3c.github.io/webauthn, §11). */
export async function addAuthenticator(page: Page) {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

/** Opens a screen of the console. */
export async function show(page: Page, path: string) {
  await page.goto(`/console/${path}`)
  await waitUntilLoaded(page)
}

/** Waits until a screen has loaded its data. */
export async function waitUntilLoaded(page: Page) {
  await page.locator('main h1').first().waitFor()
  await page.locator('.loading').first().waitFor({ state: 'detached' })
}

/** The text of an element with normalized spaces. */
export async function textOf(element: Locator): Promise<string> {
  return ((await element.textContent()) ?? '').replace(/\s+/g, ' ').trim()
}

export function press(page: Page, name: string | RegExp) {
  return page.getByRole('button', { name, exact: typeof name === 'string' }).click()
}

/** Opens the dialog that publishes the changes of an editor. */
export function review(page: Page) {
  return press(page, 'Review and publish')
}

export async function publish(page: Page, note = '') {
  await review(page)
  await page.getByLabel('Note').fill(note)
  await press(page, /^Publish (change|\d+ changes)$/)
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText('Published.').last().waitFor()
}

/** The card with a title. */
export function card(page: Page, title: string): Locator {
  return page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) })
}

/** Shows the page as readers see it, from the next load on. */
export async function becomeReader(page: Page) {
  await page.route('**/console/api/me', async (route) => {
    const reply = await route.fetch()
    const { response, ...rest } = await reply.json()
    await route.fulfill({ json: { ...rest, response: { ...response, role: 'reader' } } })
  })
}

/** The words of table cells that a line break divides, apart from ids; a break after punctuation is fine. */
export function findBrokenWords(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const broken = []
    const range = document.createRange()
    const topOf = (node, at) => {
      range.setStart(node, at)
      range.setEnd(node, at + 1)
      return range.getBoundingClientRect().top
    }
    for (const cell of document.querySelectorAll('main td')) {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (node.parentElement.closest('.unseen, .mono, code')) continue
        for (const { index } of node.data.matchAll(/(?<=\\w)\\w/g))
          if (topOf(node, index) > topOf(node, index - 1) + 5) broken.push(node.data)
      }
    }
    return broken
  })()`)
}

/** The innermost elements that make a page scroll horizontally; empty if it does not. */
export function findOverflow(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return ''
    const wide = [...document.querySelectorAll('body *')].filter(
      (one) => one.getBoundingClientRect().right > innerWidth + 1,
    )
    const innermost = wide.filter((one) => !wide.some((other) => other !== one && one.contains(other)))
    return innermost.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)).join(' and ')
  })()`)
}
