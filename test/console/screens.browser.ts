import { expect } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { browserTest, useConsole } from '../support/console.ts'
import { findOverflow } from '../support/console-browser.ts'
import { type ScreenCase, screensOf, show } from '../support/console-screens.ts'

const AXE = join(import.meta.dir, '..', '..', 'node_modules', 'axe-core', 'axe.min.js')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The dark scheme changes colours only. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']
const WIDTHS = [375, 1280]
/** One page for each core of a small machine. */
const PAGES = 2

type Rules = { type: 'tag' | 'rule'; values: string[] }
type Violation = { id: string; help: string; nodes: { html: string; failureSummary: string }[] }

const world = useConsole()

browserTest('every screen is accessible in light and dark', async () => {
  const axe = await Bun.file(AXE).text()
  const findings: string[] = []
  const waiting = await screensOf(world)
  await Promise.all(Array.from({ length: PAGES }, visitNext))
  expect(findings).toEqual([])

  async function visitNext() {
    const options = { viewport: { width: 375, height: 800 }, reducedMotion: 'reduce' as const }
    const signedIn = await world.open(options)
    const signedOut = await world.openSignedOut(options)
    for (let testCase = waiting.shift(); testCase; testCase = waiting.shift()) {
      const { page, faults } = testCase.isSignedOut ? signedOut : signedIn
      const { name, expected } = testCase
      const wrong = await checkScreen(page, testCase).catch((error) => [`failed to load: ${error}`])
      const unexpected = faults.splice(0).filter((fault) => !expected?.test(fault))
      findings.push(...[...wrong, ...unexpected].map((one) => `${name}: ${one}`.slice(0, 900)))
    }
    await Promise.all([signedIn.context.close(), signedOut.context.close()])
  }

  async function checkScreen(page: Page, testCase: ScreenCase): Promise<string[]> {
    await page.setViewportSize({ width: 375, height: 800 })
    await show(page, testCase)
    // The debugger evaluates the script, so that the page's CSP does not block it.
    if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe)
    // Controls that the bars cover can be scrolled into view, but would count as too small.
    await page.evaluate(
      `document.querySelector('.sticky')?.style.setProperty('position', 'static')`,
    )
    await page.evaluate('scrollTo(0, 0)')
    const wrong: string[] = []
    for (const width of WIDTHS) {
      if (testCase.width !== undefined && testCase.width !== width) continue
      await page.setViewportSize({ width, height: 800 })
      const tooWide = await findOverflow(page)
      await page.emulateMedia({ colorScheme: 'light' })
      const inLight = await violationsOf(page, { type: 'tag', values: TAGS })
      await page.emulateMedia({ colorScheme: 'dark' })
      const inDark = await violationsOf(page, { type: 'rule', values: COLOUR_RULES })
      wrong.push(...(tooWide ? [`${width}: scrolls sideways: ${tooWide}`] : []))
      wrong.push(...inLight.map((one) => `${width}, light: ${one}`))
      wrong.push(...inDark.map((one) => `${width}, dark: ${one}`))
    }
    return wrong
  }
})

async function violationsOf(page: Page, runOnly: Rules): Promise<string[]> {
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'], preload: false })
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document, ${options})`,
  )
  return violations.map(({ id, help, nodes }) => {
    const places = nodes.slice(0, 5).map(({ html, failureSummary }) => {
      const why = id === 'color-contrast' ? failureSummary.split('\n')[1] : ''
      return `${html.slice(0, 200)} ${why}`
    })
    return `${id} (${help}): ${places.join(' | ')}`
  })
}
