import { expect } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { browserTest, independentTest, useConsole } from '../support/console.ts'
import { waitUntilLoaded } from '../support/console-browser.ts'
import { simulateDelay } from '../support/until.ts'

const BUILT = join(import.meta.dir, '..', '..', 'dist', 'console')
const MAX_FIRST_LOAD_BYTES = 60_000
/** An old phone is about this much slower than the test machine. */
const CPU_THROTTLING = 4

const world = useConsole({ args: [] })

independentTest('the first load is under 60 kB and has no charts', async () => {
  const { page, context } = await world.open()
  const loaded = await filesOf(page, '/console')
  const kinds = loaded.map((name) => name.replace(/^.*\./, '')).toSorted()
  expect([...new Set(kinds)]).toEqual(['css', 'html', 'js', 'svg'])
  const sizes = await Promise.all(loaded.map((name) => Bun.file(join(BUILT, `${name}.gz`)).bytes()))
  const total = sizes.reduce((sum, { length }) => sum + length, 0)
  expect(total).toBeGreaterThan(10_000)
  expect(total).toBeLessThan(MAX_FIRST_LOAD_BYTES)
  await context.close()
})

independentTest('loads the code of charts and editors when they are first opened', async () => {
  const { page, context } = await world.open()
  const scripts: string[] = []
  page.on('request', (request) => {
    if (request.resourceType() === 'script') scripts.push(request.url())
  })
  const open = async (label: string) => {
    await page.locator('nav.side').getByRole('link', { name: label, exact: true }).click()
    await waitUntilLoaded(page)
    return scripts.length
  }
  await page.goto('/console')
  await waitUntilLoaded(page)
  const first = scripts.length
  for (const label of ['People', 'Usage']) expect(await open(label)).toBe(first)
  const withEditors = await open('Settings')
  expect(withEditors).toBeGreaterThan(first)
  const withCharts = await open('Metrics')
  expect(withCharts).toBeGreaterThan(withEditors)
  for (const label of ['Settings', 'Metrics']) expect(await open(label)).toBe(withCharts)
  await context.close()
})

browserTest('paints within a second on a slow phone, without layout shifts', async () => {
  const viewport = { width: 375, height: 800 }
  const { page, context } = await world.open({ viewport })
  const session = await context.newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_THROTTLING })
  await page.addInitScript(`globalThis.shifts = []
    new PerformanceObserver((list) => {
      for (const { value, sources } of list.getEntries())
        shifts.push([value, ...sources.map(({ node }) => node?.outerHTML?.slice(0, 100) ?? '')])
    }).observe({ type: 'layout-shift', buffered: true })`)
  const paints: number[] = []
  for (const place of ['', '', '', '/people', '/events', '/settings']) {
    await page.goto(`/console${place}`)
    await waitUntilLoaded(page)
    await simulateDelay(200)
    expect([place, await page.evaluate('shifts')]).toEqual([place, []])
    const paint = `performance.getEntriesByName('first-contentful-paint')[0].startTime`
    if (place === '') paints.push(await page.evaluate<number>(paint))
  }
  // Other load on the machine may slow down single runs.
  expect(Math.min(...paints)).toBeLessThan(1_000)
  await context.close()
})

/** The names of the page's own files that an address loads. */
async function filesOf(page: Page, path: string): Promise<string[]> {
  await page.goto('about:blank')
  const names: string[] = []
  const collect = (request: { url: () => string }) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/console/assets/')) names.push(pathname.split('/').at(-1) ?? '')
  }
  page.on('request', collect)
  await page.goto(path)
  await waitUntilLoaded(page)
  page.off('request', collect)
  const icon = await page.locator('link[rel=icon]').getAttribute('href')
  return [...new Set(['index.html', icon?.split('/').at(-1) ?? '', ...names])]
}
