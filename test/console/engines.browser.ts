import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import { PASSWORD } from '../support/app.ts'
import { type Console, startConsole } from '../support/console.ts'
import { OTHER_BROWSERS, type OtherBrowser } from '../support/other-browsers.ts'
import { until } from '../support/until.ts'

const TEST_TIMEOUT_MS = 120_000
/** Also finds earlier violations of the policy. */
const COLLECT_FAULTS = `(() => {
  const faults = (window.faults = [])
  const add = (text) => void faults.push(String(text))
  console.error = add
  addEventListener('error', ({ message }) => add(message))
  addEventListener('unhandledrejection', ({ reason }) => add(reason))
  addEventListener('securitypolicyviolation', ({ effectiveDirective }) => add(effectiveDirective))
  if (!window.ReportingObserver) return
  const report = (reports) => reports.forEach(({ body }) => add(body.effectiveDirective))
  new ReportingObserver(report, { types: ['csp-violation'], buffered: true }).observe()
})()`

/** The space between the last button of a dialog and the edge. */
const SPACE_IN_DIALOG = `(([button]) => button && button.closest('dialog').getBoundingClientRect().bottom - button.getBoundingClientRect().bottom)([...document.querySelectorAll('dialog[open] button')].slice(-1))`
const MAX_SPACE_PX = 40

let server: Console
beforeAll(async () => {
  if (OTHER_BROWSERS.some(({ isInstalled }) => isInstalled))
    server = await startConsole({ args: ['serve', '--demo'] })
}, 90_000)
afterAll(() => server?.[Symbol.asyncDispose]())

for (const { name, isInstalled, open } of OTHER_BROWSERS) {
  describe.skipIf(!isInstalled)(name, () => {
    test(
      'sets up and signs in with a password on loopback, and shows every kind of screen',
      async () => {
        await using browser = await open()
        const page = drive(browser)
        await page.goto(await server.linkFor(`user-of-${name}`))
        // Without passkeys, as in WebKitGTK, the form is shown already.
        const secret = await page.waitFor<string>(
          `(document.querySelector('main > button:not(.primary)')?.click(), document.querySelector('form code')?.innerText)`,
        )
        await page.fill('New password', PASSWORD)
        await page.fill('Code', new TOTP({ secret: Secret.fromBase32(secret) }).generate())
        await page.press('Set password')
        const [code = ''] = await page.waitFor<string[]>(
          `((codes) => codes.length && codes)([...document.querySelectorAll('.codes li')].map((one) => one.innerText))`,
        )
        await page.press('I saved these codes')
        await page.waitForScreen('/console')
        const paths = await browser.evaluate<string[]>(
          `[...document.querySelectorAll('nav.side li:not(.me) a')].map(({ pathname }) => pathname)`,
        )
        expect(paths.length).toBeGreaterThan(10)
        for (const path of paths) {
          await page.press('', `nav.side a[href="${path}"]`)
          await page.waitForScreen(path)
        }
        await browser.evaluate(`dispatchEvent(new KeyboardEvent('keydown', { key: '?' }))`)
        const below = await page.waitFor<number>(SPACE_IN_DIALOG)
        expect(below).toBeLessThan(MAX_SPACE_PX)
        expect(await page.faults()).toEqual([])
        await page.goto(`${server.url}/console/me`)
        await page.press('Sign out')
        await page.waitFor(`document.querySelector('.login form')`)
        await page.collectFaults()
        await page.fill('Name', `user-of-${name}`)
        await page.fill('Password', PASSWORD)
        await page.fill('Code', code)
        await page.press('Sign in', 'button[type=submit]')
        await page.waitForScreen('/console')
        expect(await page.faults()).toEqual([])
      },
      TEST_TIMEOUT_MS,
    )
  })
}

/** The actions of an operator on a page. */
function drive({ goto, evaluate }: OtherBrowser) {
  return {
    async goto(url: string) {
      await goto(url)
      await evaluate(COLLECT_FAULTS)
    },
    collectFaults: () => evaluate(COLLECT_FAULTS),
    faults: () => evaluate<string[]>('window.faults'),
    waitFor,
    waitForScreen: (path: string) =>
      waitFor(
        `location.pathname === '${path}' && document.querySelector('.frame main h1') && !document.querySelector('.loading')`,
      ),
    press: (name: string, selector = 'button, a') =>
      waitFor(
        `((one) => one && (one.click(), true))([...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.innerText.startsWith(${JSON.stringify(name)})))`,
      ),
    fill: (label: string, value: string) =>
      waitFor(`(() => {
        const found = [...document.querySelectorAll('label')].find((one) => one.innerText.startsWith(${JSON.stringify(label)}))
        if (!found) return false
        found.control.value = ${JSON.stringify(value)}
        return found.control.dispatchEvent(new Event('input', { bubbles: true }))
      })()`),
  }

  function waitFor<T>(expression: string): Promise<T> {
    const value = () => evaluate<T>(expression)
    return until(value, `never true: ${expression}`) as Promise<T>
  }
}
