import { expect } from 'bun:test'
import { browserTest, useConsole } from '../support/console.ts'
import { show, textOf } from '../support/console-browser.ts'

const world = useConsole({ environment: { APP_NAME: 'Acme Notes' } })

browserTest('the header and the title name the app and the environment', async () => {
  const { page, context } = await world.open({ viewport: { width: 1280, height: 800 } })
  await show(page, 'people')
  expect(await textOf(page.locator('.brand'))).toBe('Acme Notes Local')
  expect(await page.title()).toBe('People · Acme Notes (Local)')
  await context.close()
})

browserTest('keeps the theme and the time zone on the device', async () => {
  const options = { colorScheme: 'light', timezoneId: 'America/New_York' } as const
  const { page, context, faults } = await world.open(options)
  const ground = () =>
    page.evaluate<string>(`getComputedStyle(document.documentElement).backgroundColor`)
  await show(page, 'me')
  const light = await ground()
  await page.getByLabel('Theme').selectOption('Dark')
  const dark = await ground()
  expect(dark).not.toBe(light)
  const loaded = page.waitForEvent('load')
  await page.getByLabel('Time zone').selectOption('UTC')
  await loaded
  await show(page, 'audit')
  expect(await ground()).toBe(dark)
  const time = page.locator('main time').first()
  const at = new Date((await time.getAttribute('datetime')) ?? '')
  const inUtc = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const
  expect(await time.textContent()).toBe(at.toLocaleString('en-US', inUtc))
  // The start of the day is in the chosen time zone too.
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  const asked = page.waitForRequest(/since=/)
  await page.getByLabel('From', { exact: true }).fill('2026-07-01')
  expect(new URL((await asked).url()).searchParams.get('since')).toBe('2026-07-01T00:00:00.000Z')
  expect(faults).toEqual([])
  await context.close()
})
