import { expect } from 'bun:test'
import { browserTest, useConsole } from '../support/console.ts'
import { card, textOf, waitUntilLoaded } from '../support/console-browser.ts'

const { open } = useConsole()

browserTest('the business figures of a month can be chosen, shared and explained', async () => {
  const { page, faults } = await open({ viewport: { width: 1280, height: 900 } })
  await page.goto('/console/business')
  await waitUntilLoaded(page)
  const active = page.getByRole('region', { name: 'Active subscriptions' })
  expect(await active.locator('strong').textContent()).toMatch(/^\d/)
  await active.locator('summary').click()
  expect(await active.locator('p').textContent()).toContain('have not ended')
  await active.getByRole('link').click()
  await page.getByRole('img', { name: /^Active subscriptions chart\. / }).waitFor()
  await page.getByRole('link', { name: 'Churned' }).click()
  const chart = card(page, 'New and churned subscriptions')
  expect(await chart.locator('.legend li').allTextContents()).toEqual(['new', 'churned'])
  await chart.getByRole('slider').press('Home')
  expect(await textOf(chart.locator('.shown'))).toEndWith(': new 0, churned 0.')
  await page.getByLabel('Currency').selectOption('USD')
  await page.getByLabel('Purchases').selectOption('sandbox')
  await waitUntilLoaded(page)
  expect(new URL(page.url()).search).toBe('?figure=churned&currency=USD&environment=sandbox')
  await page.reload()
  await waitUntilLoaded(page)
  expect(await page.getByLabel('Purchases').inputValue()).toBe('sandbox')
  expect(faults).toEqual([])
})

browserTest('the overview begins with four charts, and its tiles keep their places', async () => {
  const { page, context, faults } = await open({ viewport: { width: 1440, height: 900 } })
  await page.goto('/console')
  await waitUntilLoaded(page)
  const charts = page.locator('main > .tiles').first().getByRole('img')
  const labels = (await charts.all()).map((one) => one.getAttribute('aria-label'))
  expect((await Promise.all(labels)).map((label) => label?.split('.')[0])).toEqual([
    'Revenue',
    'New and churned',
    'Requests and failures per minute',
    'Billing events per minute',
  ])
  // The failed event of the demonstration is urgent, but does not move its tile.
  const names = page.locator('main > .tiles').last().locator('.tile > .soft:first-child')
  expect((await names.allTextContents()).slice(0, 3)).toEqual([
    'Failed events',
    'Conflicting events',
    'Currency rates',
  ])
  expect(faults).toEqual([])
  await context.close()
})
