import { type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { CHROMIUM } from './browser.ts'

export type ConsoleBrowser = Awaited<ReturnType<typeof openBrowser>>

/** How long a page is waited for, in ms: machines that run all tests are slow. */
const PATIENCE = 10_000
/** A host other than localhost, which is this machine all the same. */
export const PLAIN_HOST = 'plain.example'

const POLICY = 'refused by the policy:'
const tellViolations = `addEventListener('securitypolicyviolation', (event) =>
  console.error('${POLICY}', event.effectiveDirective, event.blockedURI, event.sample))`

/** Chromium, for pages with passkeys that it keeps by itself. */
export async function openBrowser() {
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? '',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
    ],
  })
  return { browser, open, [Symbol.asyncDispose]: () => browser.close() }

  /** A page in a profile of its own; `faults` gathers errors of its console and violations of its policy. */
  async function open(options: BrowserContextOptions = {}) {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(PATIENCE)
    await context.addInitScript(tellViolations)
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

/** Of all faults those of the policy. */
export function violationsIn(faults: string[]): string[] {
  return faults.filter((fault) => fault.includes(POLICY) || fault.includes('Content Security'))
}

/** A platform authenticator whose owner always agrees (https://w3c.github.io/webauthn, §11). */
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

/** Waits until a screen has loaded all that it shows. */
export async function settled(page: Page) {
  await page.locator('main h1').first().waitFor()
  await page.locator('.loading').first().waitFor({ state: 'detached' })
}

/** The words of an element, however they are spaced. */
export async function textOf(element: Locator): Promise<string> {
  return ((await element.textContent()) ?? '').replace(/\s+/g, ' ').trim()
}

/** What makes a page scroll sideways: the innermost elements that reach beyond it; empty where none does. */
export function tooWideIn(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return ''
    const wide = [...document.querySelectorAll('body *')].filter(
      (one) => one.getBoundingClientRect().right > innerWidth + 1,
    )
    const innermost = wide.filter((one) => !wide.some((other) => other !== one && one.contains(other)))
    return innermost.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)).join(' and ')
  })()`)
}
