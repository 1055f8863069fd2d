import { expect } from 'bun:test'
import { browserTest, independentTest, useConsole } from '../support/console.ts'
import { textOf, waitUntilLoaded } from '../support/console-browser.ts'
import { register, uploadText } from '../support/requests.ts'

const PHONE = { viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true }

const world = useConsole()

independentTest('the header shows on every tab what access a user has, and why', async () => {
  const { page, context, faults } = await world.open()
  const { users } = await world.ask('people?q=carla@example.com')
  for (const tab of ['', '/subscription', '/usage', '/files', '/data']) {
    await page.goto(`/console/people/${users[0].id}${tab}`)
    await waitUntilLoaded(page)
    const header = await textOf(page.getByRole('region', { name: 'At a glance' }))
    expect(header).toContain('carla@example.com')
    expect(header).toContain('Cancelled, still active')
    expect(header).toContain('Pro, monthly. Ends on')
    for (const fact of ['Store', 'Ends', 'Last seen', 'Platform and country', 'iOS'])
      expect(header).toContain(fact)
    expect(await page.locator('.sentence').count()).toBe(1)
  }
  expect(faults).toEqual([])
  await context.close()
})

independentTest('the header shows production access even beside test purchases', async () => {
  const { page, context } = await world.open()
  const { users } = await world.ask('people?q=carla@example.com')
  await page.goto(`/console/people/${users[0].id}/subscription?environment=sandbox`)
  await waitUntilLoaded(page)
  const sentences = await page.locator('.sentence').allTextContents()
  expect(sentences[0]).toStartWith('Pro, monthly. ')
  expect(sentences[1]).toStartWith('Test purchases: This account has')
  await context.close()
})

independentTest('filters combine in the address, and say how many users match', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/people')
  await waitUntilLoaded(page)
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  await page.getByLabel('Status').selectOption('Ended')
  await page.waitForURL('**/people?status=expired')
  await page.locator('main td', { hasText: 'bob@example.com' }).waitFor({ state: 'detached' })
  await page.locator('main td', { hasText: 'eve@example.com' }).waitFor()
  expect(await page.locator('main td', { hasText: 'bob@example.com' }).count()).toBe(0)
  await page.getByLabel('Last seen').selectOption('In the last 7 days')
  await page.waitForURL('**/people?status=expired&seenWithin=7')
  const { total } = await world.ask('people?status=expired&seenWithin=7')
  await page.getByText(`${total} users`, { exact: true }).waitFor()
  await page.getByLabel('Platform').selectOption('Web')
  await page.waitForURL(/platform=web/)
  await page.getByText('No users match these filters.').waitFor()
  await page.goBack()
  await page.locator('main td', { hasText: 'eve@example.com' }).waitFor()
  expect(await page.getByLabel('Last seen').inputValue()).toBe('7')
  await context.close()
})

browserTest('saves a view by name, opens it and removes it', async () => {
  const { page, context, faults } = await world.open()
  await page.goto('/console/people?platform=ios&status=cancelled')
  await waitUntilLoaded(page)
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByLabel('Name of the view').fill('Cancelled on iOS')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('View saved.').waitFor()
  await page.goto('/console/people')
  await page.getByRole('link', { name: 'Cancelled on iOS' }).click()
  await page.locator('main td', { hasText: 'carla@example.com' }).waitFor()
  expect(new URL(page.url()).search).toBe('?status=cancelled&platform=ios')
  await page.getByRole('button', { name: 'Remove view' }).click()
  await page.getByText('Removed the view Cancelled on iOS.').waitFor()
  expect(await page.getByRole('link', { name: 'Cancelled on iOS' }).count()).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

independentTest(
  'on a phone, the filters are behind a button and nothing scrolls sideways',
  async () => {
    const { page, context } = await world.open(PHONE)
    await page.goto('/console/people?status=expired')
    await waitUntilLoaded(page)
    expect(await page.getByLabel('Platform').isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Filters', exact: true }).click()
    await page.getByLabel('Platform').selectOption('iOS')
    await page.waitForURL('**/people?status=expired&platform=ios')
    await page.locator('main a', { hasText: 'eve@example.com' }).click()
    await page.getByRole('region', { name: 'At a glance' }).waitFor()
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    expect(width).toBe(375)
    await context.close()
  },
)

browserTest('a deleted file disappears from the list, even from a later page', async () => {
  const server = { url: world.console.url }
  const { accessToken, user } = await register(server, 'many-files@example.com')
  for (let at = 0; at < 52; at++) await uploadText(server, accessToken, `file ${at}`)
  const { page, context } = await world.open()
  await page.goto(`/console/people/${user._id}/files`)
  await page.getByRole('button', { name: 'Load more' }).click()
  const rows = page.locator('main tbody tr')
  await rows.nth(51).waitFor()
  await rows.nth(51).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await rows.nth(51).waitFor({ state: 'detached' })
  expect(await rows.count()).toBe(51)
  await context.close()
})

browserTest('repeating a search reloads the list', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/people?q=late@example.com')
  await page.getByText('No matches.').waitFor()
  await register({ url: world.console.url }, 'late@example.com')
  await page.getByLabel('Search', { exact: true }).press('Enter')
  await page.locator('main td', { hasText: 'late@example.com' }).waitFor()
  await context.close()
})
