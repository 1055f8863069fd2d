import { expect } from 'bun:test'
import { browserTest, useConsole } from '../support/console.ts'
import { textOf } from '../support/console-browser.ts'

const world = useConsole()

browserTest('a key is not created without the intended limits', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/api-keys')
  await page.getByLabel('Name').fill('typo')
  await page.getByLabel('users:read', { exact: false }).first().check()
  for (const [label, text] of [
    ['Expires after (days)', '90d'],
    ['Requests per minute', '1,000'],
  ] as const) {
    await page.getByLabel(label).fill(text)
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.locator('input[aria-invalid=true]').waitFor()
    expect(await page.getByText('Key typo').count()).toBe(0)
    await page.getByLabel(label).fill('')
  }
  await context.close()
})

browserTest(
  'replaces an API key with one that has the same rights, and both work until it is revoked',
  async () => {
    const { page, context, faults } = await world.open()
    await page.goto('/console/api-keys')
    await page.getByLabel('Name').fill('render')
    await page.getByLabel('Requests per minute').fill('600')
    await page.getByLabel('Expires after (days)').fill('90')
    await page.getByLabel('Networks').fill('10.0.0.0/8 192.0.2.1')
    await page.getByLabel('users:read', { exact: false }).first().check()
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Key render').waitFor()
    expect(await page.locator('button:focus').textContent()).toBe('Copy key')
    await page.getByRole('button', { name: 'Replace render' }).click()
    await page.locator('input:focus').waitFor()
    const today = new Date().toISOString().slice(0, 10)
    expect(await page.getByLabel('Name').inputValue()).toBe(`render ${today}`)
    expect(await page.getByLabel('Expires after (days)').inputValue()).toBe('90')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText(`Key render ${today}`).waitFor()
    await page.getByRole('row', { name: `render ${today}` }).waitFor()
    const table = await textOf(page.locator('main table'))
    const rights = 'users:read; only from 10.0.0.0/8, 192.0.2.1; 600 requests per minute'
    expect(table.split(rights)).toHaveLength(3)
    expect(table.match(/active/g)).toHaveLength(2)
    expect(faults).toEqual([])
    await context.close()
  },
)
