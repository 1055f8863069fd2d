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
