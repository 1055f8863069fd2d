import { expect } from 'bun:test'
import { independentTest, useConsole } from '../support/console.ts'
import { becomeReader, press, show } from '../support/console-browser.ts'

const world = useConsole({ args: [] })

independentTest('a dialog sends only the entered values', async () => {
  const { page, context } = await world.open()
  await show(page, 'webhooks')
  await page.getByLabel('URL').fill('https://example.com/old')
  await page.getByLabel('Description').fill(' CRM ')
  await page.getByLabel('All events').uncheck()
  expect(await page.getByRole('button', { name: 'Add endpoint' }).isDisabled()).toBe(true)
  await page.getByLabel('subscription.changed').check()
  await page.keyboard.press('Enter')
  await page.getByText('Endpoint added.').waitFor()
  expect(await page.getByLabel('URL').inputValue()).toBe('')
  await page.getByRole('link', { name: 'https://example.com/old' }).click()
  await press(page, 'Change endpoint')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('URL').fill('https://example.com/new')
  await page.keyboard.press('Enter')
  await page.getByText('Endpoint changed.').waitFor()
  const { endpoints } = await world.ask('webhooks')
  expect(endpoints).toMatchObject([
    { url: 'https://example.com/new', events: ['subscription.changed'], description: 'CRM' },
  ])
  await context.close()
})

independentTest('refuses an invalid number at its field; empty means the default', async () => {
  const { page, context } = await world.open()
  await show(page, 'alerts')
  const threshold = page.getByRole('dialog').getByLabel('Threshold')
  const edit = async () => {
    await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
    await press(page, 'Edit The disk is almost full')
  }
  await edit()
  await threshold.fill('much')
  await press(page, 'Save')
  await page.locator('input[aria-invalid=true]').waitFor()
  await threshold.fill('2.5')
  await press(page, 'Save')
  await page.getByText('Changed alert The disk is almost full.').waitFor()
  await edit()
  expect(await threshold.inputValue()).toBe('2.5')
  await threshold.fill('')
  await press(page, 'Save')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { rules } = await world.ask('alerts')
  expect(rules.every(({ isDefault }: { isDefault: boolean }) => isDefault)).toBe(true)
  await context.close()
})

independentTest('a reader sees no button or form for an action', async () => {
  const { page, context } = await world.open()
  await becomeReader(page)
  for (const [path, ...names] of [
    ['alerts', 'Send a test alert', /^Edit /],
    ['api-keys', 'Create key'],
    ['keys', /^Rotate/],
    ['operators', 'Create invitation', /^Manage/],
    ['rates', 'Refresh now'],
    ['webhooks', 'Add endpoint'],
  ] as const) {
    await show(page, path)
    for (const name of names)
      expect([path, await page.getByRole('button', { name }).count()]).toEqual([path, 0])
  }
  await context.close()
})
