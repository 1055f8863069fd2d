import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { independentTest, useConsole } from '../support/console.ts'
import { press, show, waitUntilLoaded } from '../support/console-browser.ts'

const MAX_TABS = 60

const world = useConsole()

independentTest('finds a user and signs out a device by keyboard alone', async () => {
  const { page, context } = await world.open()
  const { keyboard } = page
  await openOverview(page)
  await keyboard.press('/')
  await keyboard.type('bob@ex')
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Bob' }).waitFor()
  await tabTo(page, 'BUTTON Sign out Demo phone')
  await keyboard.press('Enter')
  await page.getByText('Signed out Demo phone.').waitFor()
  await page.getByText('No devices are signed in.').waitFor()
  expect(await focused(page)).not.toBe('BODY')
  await context.close()
})

independentTest('shortcuts open screens and focus their headings', async () => {
  const { page, context } = await world.open()
  const { keyboard } = page
  await openOverview(page)
  for (const [key, heading] of [
    ['p', 'People'],
    ['e', 'Billing events'],
    ['s', 'Settings'],
    ['a', 'Audit log'],
    ['o', 'Overview'],
  ] as const) {
    await keyboard.press('g')
    await keyboard.press(key)
    await page.locator('h1:focus', { hasText: heading }).waitFor()
    expect(await page.title()).toBe(`${heading} · Homeport (Local)`)
  }
  await page.getByRole('link', { name: 'Plans', exact: true }).click()
  await page.locator('h1:focus', { hasText: 'Plans' }).waitFor()
  await context.close()
})

independentTest('j and k move along a list and stop at its start', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/people')
  await waitUntilLoaded(page)
  const names = await page.locator('main .rows td:first-child a').allTextContents()
  const path: string[] = []
  for (const key of ['j', 'j', 'k', 'k', 'j']) {
    await page.keyboard.press(key)
    path.push((await focused(page)).replace('A ', ''))
  }
  expect(path.map((name) => names.indexOf(name))).toEqual([0, 1, 0, 0, 1])
  await context.close()
})

independentTest('? lists the shortcuts, which are off while a dialog is open', async () => {
  const { page, context } = await world.open()
  await openOverview(page)
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await dialog.waitFor()
  for (const key of ['g', 'p', 'j']) await page.keyboard.press(key)
  expect(page.url()).toBe(`${world.console.url}/console`)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await focused(page)).toBe('H1 Overview')
  await context.close()
})

independentTest('shortcuts are off in text fields', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/audit')
  await waitUntilLoaded(page)
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  for (const field of [page.getByRole('searchbox'), page.getByLabel(/^Operator/)]) {
    await field.focus()
    await page.keyboard.type('/?gpjk')
    expect(await field.inputValue()).toBe('/?gpjk')
    await field.fill('')
  }
  expect(await page.getByRole('dialog').count()).toBe(0)
  expect(page.url()).toBe(`${world.console.url}/console/audit`)
  await page.locator('h1').focus()
  await page.keyboard.press('Control+g')
  await page.keyboard.press('p')
  expect(page.url()).toBe(`${world.console.url}/console/audit`)
  await context.close()
})

independentTest('the skip link skips the navigation', async () => {
  const { page, context } = await world.open()
  await openOverview(page)
  const skip = page.getByRole('link', { name: 'Skip to content' })
  await skip.focus()
  const { x, y } = (await skip.boundingBox()) ?? { x: -1, y: -1 }
  expect(x >= 0 && y >= 0).toBe(true)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  const isInside = 'document.activeElement.closest("main") !== null'
  expect(await page.evaluate<boolean>(isInside)).toBe(true)
  await context.close()
})

independentTest('a dialog traps the focus and returns it', async () => {
  const { page, context } = await world.open()
  const { users } = await world.ask('people?q=carla@example.com')
  await page.goto(`/console/people/${users[0].id}`)
  await waitUntilLoaded(page)
  await tabTo(page, /^BUTTON Delete .* account$/)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  const isInside = 'document.activeElement.closest("dialog, body") !== null'
  for (let tabs = 0; tabs < 5; tabs++) {
    await page.keyboard.press('Tab')
    expect(await page.evaluate<boolean>(isInside)).toBe(true)
    expect(
      await page.evaluate<boolean>(
        'document.activeElement.closest("main") === null ||' +
          ' document.activeElement.closest("dialog") !== null',
      ),
    ).toBe(true)
  }
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await focused(page)).toMatch(/^BUTTON Delete .* account$/)
  await context.close()
})

independentTest(
  'a search keeps the focus, and a form takes the focus of the button it replaces',
  async () => {
    const { page, context } = await world.open()
    const focused = () =>
      page.evaluate<string>('document.activeElement.labels?.[0]?.textContent ?? ""')
    await show(page, 'purchases')
    await page.getByLabel('Receipt, e-mail or id').fill('bob@example.com')
    await page.keyboard.press('Enter')
    await page.waitForURL(/id=bob/)
    expect(await focused()).toContain('Receipt, e-mail or id')
    await show(page, 'alerts')
    await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
    await press(page, 'Edit The disk is almost full')
    expect(await focused()).toContain('Send this alert')
    await show(page, 'people?platform=ios')
    await press(page, 'Save view')
    expect(await focused()).toContain('Name of the view')
    await context.close()
  },
)

independentTest('the focus is always visible', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/people')
  await waitUntilLoaded(page)
  const hidden: string[] = []
  const outline = `(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
    return outlineStyle !== 'none' && outlineWidth !== '0px'
  })()`
  for (let tabs = 0; tabs < 30; tabs++) {
    await page.keyboard.press('Tab')
    const name = await focused(page)
    if (name !== 'BODY' && !(await page.evaluate<boolean>(outline))) hidden.push(name)
  }
  expect(hidden).toEqual([])
  await context.close()
})

async function openOverview(page: Page) {
  await page.goto('/console')
  await waitUntilLoaded(page)
}

/** The tag and text of the focused element. */
async function focused(page: Page): Promise<string> {
  // A locator of `:focus` does not match a date field whose calendar button has the focus.
  const text =
    '[document.activeElement].map((e) => e.tagName + " " + (e === document.body ? "" : e.textContent))[0]'
  return (await page.evaluate<string>(text)).replace(/\s+/g, ' ').trim()
}

async function tabTo(page: Page, wanted: string | RegExp) {
  for (let tabs = 0; tabs < MAX_TABS; tabs++) {
    await page.keyboard.press('Tab')
    const found = await focused(page)
    if (typeof wanted === 'string' ? found === wanted : wanted.test(found)) return
  }
  throw new Error(`Tab does not reach ${wanted}`)
}
