import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { browserTest, independentTest, useConsole } from '../support/console.ts'
import { simulateDelay } from '../support/until.ts'

// The tests share a server, so each requests its own paths.
const FAQS = '/api/user/faqs/v1'
const PLANS = '/api/user/pricing_plans/v1'
const VERSIONS = '/api/user/content_version/v1'
const RATES = '/api/user/currency_rates/v1'

const world = useConsole({ args: [] })

independentTest('shows requests as they happen', async () => {
  const { page, context } = await openLive()
  expect(await lineOf(page, VERSIONS).count()).toBe(0)
  await ask(VERSIONS)
  await lineOf(page, VERSIONS).waitFor()
  expect(await lineOf(page, VERSIONS).textContent()).toMatch(
    /info GET \/api\/user\/content_version\/v1 200 [\d.]+ ms/,
  )
  await context.close()
})

independentTest('holds lines back while paused', async () => {
  const { page, context } = await openLive()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('paused', { exact: true }).waitFor()
  await ask(PLANS)
  await simulateDelay(500)
  expect(await lineOf(page, PLANS).count()).toBe(0)
  await page.getByRole('button', { name: 'Resume' }).click()
  await lineOf(page, PLANS).waitFor()
  await context.close()
})

independentTest('keeps an expanded line expanded while others arrive', async () => {
  const { page, context } = await openLive()
  await ask('/api/user/changes/v1')
  const line = lineOf(page, '/api/user/changes/v1')
  await line.locator('summary').click()
  await line.getByText('"requestId":').waitFor()
  await ask('/api/user/app_settings/v1')
  await lineOf(page, '/api/user/app_settings/v1').waitFor()
  expect(await page.locator('.line-log details[open]').count()).toBe(1)
  expect(await line.getByText('"requestId":').isVisible()).toBe(true)
  await context.close()
})

independentTest('hides console requests until they are included', async () => {
  const { page, context } = await openLive()
  await ask('/console/api/login/state')
  await ask('/health')
  await lineOf(page, '/health').first().waitFor()
  expect(await page.getByText('GET /console/').count()).toBe(0)
  await page.getByLabel('Include console requests').check()
  await lineOf(page, '/console/api/login/state').first().waitFor()
  await context.close()
})

independentTest('filters lines by text and level', async () => {
  const { page, context } = await openLive()
  await ask('/api/nowhere')
  await ask(FAQS)
  await lineOf(page, FAQS).first().waitFor()
  await page.getByLabel('Contains').fill('FAQS')
  const shown = await page.locator('.line-log > details').allTextContents()
  expect(shown.length).toBeGreaterThan(0)
  expect(shown.filter((line) => !line.includes('faqs'))).toEqual([])
  await page.getByLabel('Level').selectOption('error')
  await page.getByText('No matching lines yet.').waitFor()
  await context.close()
})

independentTest('reconnects after a proxy answered with an error', async () => {
  const { page, context } = await world.open()
  let isFailing = true
  await page.route('**/console/api/live', (route) =>
    isFailing ? route.fulfill({ status: 502, body: 'Bad gateway' }) : route.continue(),
  )
  await page.goto('/console/live')
  await page.getByText('connecting', { exact: true }).waitFor()
  await simulateDelay(200)
  isFailing = false
  await page.getByText('connected', { exact: true }).waitFor()
  await context.close()
})

browserTest('reconnects after the server restarted', async () => {
  const { page, context } = await openLive()
  await world.console.stop()
  await page.getByText('connecting', { exact: true }).waitFor()
  await world.console.restart()
  await page.getByText('connected', { exact: true }).waitFor()
  await ask(RATES)
  await page.locator('.line-log', { hasText: 'currency' }).waitFor()
  await context.close()
})

async function openLive() {
  const opened = await world.open()
  await opened.page.goto('/console/live')
  await opened.page.getByText('connected', { exact: true }).waitFor()
  return opened
}

function ask(path: string) {
  return fetch(world.console.url + path)
}

function lineOf(page: Page, path: string) {
  return page.locator('.line-log > details', { hasText: `GET ${path} ` })
}
