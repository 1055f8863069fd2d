import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { independentTest, useConsole } from '../support/console.ts'
import { card, textOf } from '../support/console-browser.ts'
import { drawCharts } from '../support/console-states.ts'

const world = useConsole({ args: [] })

independentTest('names the slowest endpoint, and opens its charts', async () => {
  const { page, context } = await openMetrics()
  const sentence = page.locator('.sentence')
  expect(await textOf(sentence)).toBe(
    'The slowest endpoint with at least 10 requests is POST /api/auth/login/v1: p99 240 ms, p50 2 ms, over 200 requests.',
  )
  await sentence.getByRole('link').click()
  await card(page, 'Response time').waitFor()
  expect(new URL(page.url()).searchParams.get('endpoint')).toBe('POST /api/auth/login/v1')
  await page.getByRole('link', { name: 'Hide the charts' }).click()
  await card(page, 'Response time').waitFor({ state: 'detached' })
  await context.close()
})

independentTest('shows the values of every line at a time in words', async () => {
  const { page, context } = await openMetrics()
  const chart = card(page, 'Requests per minute')
  const shown = chart.locator('.shown')
  expect(await textOf(shown)).toEndWith('requests 59, failed (5xx) 0.')
  const plot = chart.locator('.u-over')
  const box = await plot.boundingBox()
  await plot.hover({ position: { x: (box?.width ?? 0) / 2, y: 20 } })
  const [, pointed] = /requests (\d+), failed/.exec(await textOf(shown)) ?? []
  expect(Number(pointed)).toBeWithin(27, 33)
  const slider = chart.getByRole('slider')
  await slider.press('ArrowLeft')
  const text = `requests ${Number(pointed) - 1}, failed (5xx) 0.`
  expect(await textOf(shown)).toEndWith(text)
  expect(await slider.getAttribute('aria-valuetext')).toBe(text)
  await context.close()
})

independentTest('names each line in the legend, and marks restarts', async () => {
  const { page, context } = await openMetrics()
  const legend = card(page, 'Response time').locator('.legend li')
  expect(await legend.allTextContents()).toEqual(['p50', 'p99', 'restart'])
  await page.getByText('from 0.1.0 to 0.2.0').waitFor()
  await context.close()
})

independentTest('draws charts in a browser whose language is not a language tag', async () => {
  const { page, context } = await openMetrics(
    '',
    `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })`,
  )
  await card(page, 'Requests per minute').locator('canvas').first().waitFor()
  await context.close()
})

independentTest('compares with the previous day and week, kept in the address', async () => {
  const { page, context } = await openMetrics()
  await page.getByLabel('Previous day').check()
  await page.getByText('requests, previous day').waitFor()
  await page.getByLabel('Previous week').check()
  await page.getByText('requests, previous week').waitFor()
  expect(new URL(page.url()).search).toBe('?day=on&week=on')
  await page.reload()
  const shown = card(page, 'Requests per minute').locator('.shown')
  await shown.waitFor()
  expect(await textOf(shown)).toEndWith(
    'requests 59, failed (5xx) 0. Previous day: requests 590, failed (5xx) 0. Previous week: requests 5,900, failed (5xx) 0.',
  )
  await page.getByLabel('Previous day').uncheck()
  await page.getByText('requests, previous day').first().waitFor({ state: 'detached' })
  expect(new URL(page.url()).search).toBe('?week=on')
  await context.close()
})

independentTest('sorts endpoints, and hides those of the console', async () => {
  const { page, context } = await openMetrics('/endpoints')
  expect(await namesIn(page)).toEqual(['POST /api/auth/login/v1', 'GET /health', 'Unknown paths'])
  await page.getByRole('columnheader').getByRole('link', { name: 'p99' }).click()
  expect((await namesIn(page)).at(-1)).toBe('POST /api/auth/login/v1')
  await page.getByLabel('Include console requests').check()
  expect((await namesIn(page)).at(-1)).toBe('GET /console/api/overview')
  await context.close()
})

independentTest('leads from a slow request to its line in the live log', async () => {
  const { page, context } = await world.open()
  const headers = { 'x-request-id': 'slow-one', 'content-type': 'application/json' }
  const body = JSON.stringify({ email: 'slow@example.com', password: 'correct horse battery' })
  const path = '/api/auth/register/v1'
  await fetch(world.console.url + path, { method: 'POST', headers, body })
  await page.goto('/console/metrics/slowest')
  await page.getByRole('link', { name: 'slow-one' }).click()
  await page.locator('.line-log details', { hasText: `POST ${path} 20` }).waitFor()
  expect(await page.getByLabel('Contains').inputValue()).toBe('slow-one')
  await context.close()
})

independentTest('shows that the longest delays exceed the last bucket', async () => {
  const { page, context } = await openMetrics('/deliveries')
  await page.getByText('more than 13.7 days').waitFor()
  await context.close()
})

independentTest('shows two charts beside each other on a wide screen', async () => {
  const { page, context } = await openMetrics()
  await page.setViewportSize({ width: 1440, height: 900 })
  const [first, second] = await Promise.all(
    ['Requests per minute', 'Response time'].map((title) => card(page, title).boundingBox()),
  )
  expect(second?.y).toBe(first?.y ?? 0)
  expect(second?.x).toBeGreaterThan((first?.x ?? 0) + (first?.width ?? 0))
  await context.close()
})

async function openMetrics(path = '', script = '') {
  const opened = await world.open()
  await opened.context.addInitScript(script)
  await opened.page.goto(`/console/metrics${path}`)
  await drawCharts(opened.page)
  await opened.page.locator('.u-over, .rows').first().waitFor()
  return opened
}

function namesIn(page: Page): Promise<string[]> {
  return page.locator('.rows tbody td:first-child').allTextContents()
}
