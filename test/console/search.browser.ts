import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { independentTest, useConsole } from '../support/console.ts'
import { show, textOf } from '../support/console-browser.ts'

const world = useConsole()

independentTest('groups hits while typing, and the arrow keys move through them', async () => {
  const { page, context, faults } = await openSearch()
  await page.keyboard.type('demo-')
  const purchases = page.getByRole('region', { name: 'Purchases' })
  await purchases.getByRole('link', { name: 'demo-0' }).waitFor()
  expect(await textOf(page.getByRole('region', { name: 'Users' }))).toContain('ann@example.com Ann')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  expect(await page.evaluate('document.activeElement.closest(".hits") !== null')).toBe(true)
  await page.keyboard.press('Escape')
  await purchases.waitFor({ state: 'detached' })
  await page.keyboard.press('Enter')
  await page.waitForURL('**/people?q=demo-')
  expect(faults).toEqual([])
  await context.close()
})

independentTest(
  'Enter opens a single hit, also for text that was copied with its label',
  async () => {
    const { page, context, faults } = await openSearch()
    for (const [text, heading] of [
      ['ann@ex', 'Ann'],
      ['Bob Example <bob@example.com>', 'Bob'],
      ['order: demo-2', 'Purchase demo-2'],
    ] as const) {
      await page.keyboard.press('Control+k')
      await page.keyboard.press('Control+a')
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    }
    const { events } = await world.ask('events?type=RENEWAL')
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Control+a')
    await page.keyboard.type(events[0].eventId)
    await page.getByRole('region', { name: 'Events' }).getByRole('link').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/console/events/*')
    await page.getByText('Raw data').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('nobody at all')
    await page.getByRole('status').filter({ hasText: 'No matches.' }).waitFor()
    expect(faults).toEqual([])
    await context.close()
  },
)

independentTest('keeps what an operator types as soon as a list’s search appears', async () => {
  const { page, context } = await world.open()
  await page.addInitScript(`
    new MutationObserver((changes, observer) => {
      const input = document.querySelector('main input[type=search]')
      if (input === null) return
      observer.disconnect()
      input.value = 'demo-0'
      input.dispatchEvent(new InputEvent('input', { bubbles: true }))
    }).observe(document, { childList: true, subtree: true })
  `)
  await show(page, 'purchases')
  expect(await page.getByLabel('Receipt, e-mail or id').inputValue()).toBe('demo-0')
  await context.close()
})

independentTest('a late result leads nowhere once the operator has moved on', async () => {
  const { page, context } = await openSearch()
  const held = Promise.withResolvers<void>()
  await page.route('**/console/api/people?q=ann*', async (route) => {
    await held.promise
    await route.continue()
  })
  await page.keyboard.type('ann@example.com')
  const response = page.waitForResponse('**/console/api/people?q=ann*')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Events', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
  held.resolve()
  await (await response).finished()
  await page.evaluate(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
  )
  expect(new URL(page.url()).pathname).toBe('/console/events')
  await context.close()
})

independentTest('a screen that loads does not take the focus from a search', async () => {
  const { page, context } = await openSearch()
  const { users } = await world.ask('people?q=ann@example.com')
  const held = Promise.withResolvers<void>()
  await page.route(`**/console/api/people/${users[0].id}`, async (route) => {
    await held.promise
    await route.continue()
  })
  await page.keyboard.type('ann@example.com')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/people/*')
  await focusSearch(page)
  held.resolve()
  await page.getByRole('heading', { level: 1, name: 'Ann' }).waitFor()
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Search')
  await context.close()
})

async function openSearch() {
  const opened = await world.open()
  await show(opened.page, '')
  await focusSearch(opened.page)
  return opened
}

async function focusSearch(page: Page) {
  await page.keyboard.press('Control+k')
  expect(await page.evaluate('document.activeElement.type')).toBe('search')
}
