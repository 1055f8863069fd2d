import { expect } from 'bun:test'
import type { Locator } from 'playwright-core'
import { independentTest, useConsole } from '../support/console.ts'
import { show, textOf, waitUntilLoaded } from '../support/console-browser.ts'

const PHONE = { viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true }
const MIN_FONT_PX = 16

const world = useConsole()

independentTest('filters are behind a button on a phone', async () => {
  const { page, context } = await world.open(PHONE)
  await show(page, 'events?outcome=failed')
  const outcome = page.getByLabel('Outcome')
  expect(await outcome.isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  await outcome.selectOption('applied')
  await page.waitForURL('**/events?outcome=applied')
  await context.close()
})

independentTest('filters close with a button, beside the number of results', async () => {
  const { page, context } = await world.open(PHONE)
  await show(page, 'events')
  const toggle = page.getByRole('button', { name: 'Filters', exact: true })
  const [button, total] = await Promise.all(
    [toggle, page.getByText(/^\d+ events$/)].map((one) => one.boundingBox()),
  )
  expect(total?.y).toBeLessThan((button?.y ?? 0) + (button?.height ?? 0))
  await toggle.click()
  await page.getByRole('button', { name: 'Show results' }).click()
  expect(await page.getByLabel('Outcome').isVisible()).toBe(false)
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Filters')
  await context.close()
})

independentTest('an active filter has a chip on a phone, which removes it', async () => {
  const { page, context } = await world.open(PHONE)
  await show(page, 'people?status=granted&country=BR')
  expect(await textOf(page.getByRole('list', { name: 'Active filters' }))).toBe('Granted ×BR ×')
  await page.getByRole('button', { name: 'Remove filter: Granted' }).click()
  await page.waitForURL('**/people?country=BR')
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Filters')
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  await page.getByLabel('Country').fill('')
  await page.getByLabel('Country').press('Enter')
  await page.getByRole('button', { name: /^Show \d{2,} users$/ }).click()
  expect(await page.getByLabel('Status').isVisible()).toBe(false)
  await context.close()
})

independentTest(
  'an editor has no bar without changes, and opens the group of an error',
  async () => {
    const { page, context } = await world.open(PHONE)
    await show(page, 'settings')
    expect(await page.locator('.sticky').isVisible()).toBe(false)
    const group = page.getByRole('group', { name: 'Android' })
    const version = group.getByLabel('Latest version')
    expect(await version.isVisible()).toBe(false)
    await group.locator('summary').click()
    await version.fill('two')
    await group.locator('summary').click()
    await page.getByRole('button', { name: 'Review and publish' }).click()
    await page.getByRole('button', { name: 'Publish change' }).click()
    await version.waitFor()
    expect(await version.getAttribute('aria-invalid')).toBe('true')
    await context.close()
  },
)

independentTest('the tabs of a user stay in place when another tab is opened', async () => {
  const { page, context } = await world.open(PHONE)
  const { users } = await world.ask('people?q=ann@example.com')
  await show(page, `people/${users[0].id}`)
  const tabs = page.getByRole('navigation', { name: 'User' })
  const topOf = async (one: Locator) => (await one.boundingBox())?.y ?? 0
  await page.evaluate('scrollTo(0, 1500)')
  const top = await topOf(tabs)
  expect(top).toBeLessThan(70)
  await tabs.getByRole('link', { name: 'Files' }).click()
  const card = page.getByRole('heading', { name: 'Files' })
  await card.waitFor()
  await waitUntilLoaded(page)
  expect(await topOf(tabs)).toBe(top)
  expect(await topOf(card)).toBeGreaterThan(top + 40)
  expect(await topOf(card)).toBeLessThan(200)
  await context.close()
})

independentTest('a relative time shows the exact one when it is pressed', async () => {
  const { page, context } = await world.open(PHONE)
  await show(page, 'operators')
  const time = page.getByRole('button', { name: / ago$|^now$/ }).first()
  const exact = await time.getByRole('time').getAttribute('title')
  await time.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: exact ?? 'none' }).waitFor()
  await context.close()
})

independentTest(
  'the overview links each problem to its screen, once the checklist is dismissed',
  async () => {
    const { page, context } = await world.open(PHONE)
    await show(page, '')
    const noBackup = page.getByRole('link', { name: 'No backup yet' })
    expect(await noBackup.count()).toBe(0)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await noBackup.click()
    await page.waitForURL('**/console/backups')
    await show(page, '')
    await page.getByRole('link', { name: /failed billing event/ }).click()
    await page.waitForURL('**/events?outcome=failed')
    await context.close()
  },
)

independentTest('bars take less than a third of a phone’s screen', async () => {
  const { page, context } = await world.open(PHONE)
  await show(page, 'settings')
  await page.getByLabel('Support e-mail').fill('phone@example.com')
  const heights = await Promise.all(
    ['.bar', '.sticky'].map(async (bar) => (await page.locator(bar).boundingBox())?.height ?? 999),
  )
  expect(heights.reduce((sum, height) => sum + height)).toBeLessThan(PHONE.viewport.height / 3)
  await context.close()
})

independentTest('the menu opens below the header of a scrolled page', async () => {
  const { page, context } = await world.open(PHONE)
  await show(page, 'settings')
  await page.evaluate('scrollTo(0, 1000)')
  const menu = page.getByRole('button', { name: 'Menu' })
  await menu.click()
  const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link')
  const { y = 0, height = 0 } = (await links.first().boundingBox()) ?? {}
  expect(y).toBeGreaterThan(40)
  expect(y + height).toBeLessThan(PHONE.viewport.height)
  await page.keyboard.press('Escape')
  expect(await links.first().isVisible()).toBe(false)
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Menu')
  await menu.click()
  await links.filter({ hasText: 'account and sign out' }).click()
  await page.waitForURL('**/console/me')
  await links.first().waitFor({ state: 'hidden' })
  await context.close()
})

independentTest('no input zooms, and nothing scrolls inside the page, on a phone', async () => {
  const { page, context } = await world.open(PHONE)
  const { events } = await world.ask('events')
  const problems: string[] = []
  for (const path of ['settings', 'live', 'audit', 'operators', `events/${events[0].eventId}`]) {
    await show(page, path)
    const found = await page.evaluate<
      string[]
    >(`[...document.querySelectorAll('body *')].flatMap((one) => {
      const { fontSize, overflowY } = getComputedStyle(one)
      const isField = one.matches('input, select, textarea')
      const isSmall = isField && parseFloat(fontSize) < ${MIN_FONT_PX}
      const scrolls = !isField && /auto|scroll/.test(overflowY) && one.scrollHeight > one.clientHeight + 1
      return isSmall || scrolls ? [one.outerHTML.slice(0, 100)] : []
    })`)
    problems.push(...found.map((one) => `${path}: ${one}`))
  }
  expect(problems).toEqual([])
  await context.close()
})

independentTest('all tap targets are 44 px high on a phone', async () => {
  const { page, context } = await world.open(PHONE)
  const { users } = await world.ask('people?q=ann@example.com')
  const problems: string[] = []
  for (const path of ['', 'people', 'events', 'settings', `people/${users[0].id}`, 'operators']) {
    await show(page, path)
    const found = await page.evaluate<
      string[]
    >(`[...document.querySelectorAll('button, input, select, textarea, .side a, .tabs a, th a, td:first-child > a, summary, label.row')].flatMap((one) => {
      const isInside = one.matches('label [type=checkbox]')
      if (!one.checkVisibility() || isInside) return []
      const target = one.matches('td > a') ? one.closest('tr') : one
      const { width, height } = target.getBoundingClientRect()
      const isExtended = one.matches('.help summary, .time')
      return isExtended || Math.min(width, height) > 43.9 ? [] : [one.outerHTML.slice(0, 100) + height]
    })`)
    problems.push(...found.map((one) => `${path}: ${one}`))
  }
  expect(problems).toEqual([])
  await context.close()
})

independentTest('a phone can hand the key to its authenticator app', async () => {
  const link = await world.console.linkFor('phoebe')
  const isLinkVisible = async (options: object) => {
    const { page, context } = await world.openSignedOut(options)
    await page.goto(link)
    await page.getByRole('button', { name: 'Use a password' }).click()
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    const opener = page.locator('a[href^="otpauth://totp/"]')
    const isVisible = await opener.isVisible()
    await context.close()
    return isVisible
  }
  expect([await isLinkVisible(PHONE), await isLinkVisible({})]).toEqual([true, false])
})

independentTest('password managers recognize the sign-in fields', async () => {
  const { page, context } = await world.openSignedOut()
  const fields = () =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('form input')].map(({ name, autocomplete }) => name + ' ' + autocomplete)`,
    )
  await page.goto('/console')
  await page.getByLabel('Password').waitFor()
  expect(await fields()).toEqual([
    'username username',
    'password current-password',
    'code one-time-code',
  ])
  await page.goto('about:blank')
  await page.goto(await world.console.linkFor('penny'))
  await page.getByRole('button', { name: 'Use a password' }).click()
  await page.getByLabel('New password').waitFor()
  expect(await fields()).toEqual([
    'username username',
    'password new-password',
    'code one-time-code',
  ])
  await context.close()
})

independentTest('prints a user page without the console around it', async () => {
  const { page, context } = await world.open()
  const { users } = await world.ask('people?q=ann@example.com')
  await show(page, `people/${users[0].id}/subscription`)
  await page.emulateMedia({ media: 'print' })
  await page.evaluate(`dispatchEvent(new Event('beforeprint'))`)
  for (const hidden of ['.bar', 'nav.side', 'main button:not(.time)', '.tabs'])
    expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false])
  expect(await page.locator('main .changes').first().isVisible()).toBe(true)
  expect(await textOf(page.locator('.print-only'))).toContain('Printed by olga')
  await context.close()
})

independentTest('prints an audit extract with its filter and changes', async () => {
  const { page, context } = await world.open()
  const { version, content } = await world.ask('settings')
  const edited = { ...content, supportEmail: 'print@example.com' }
  await world.ask('settings/publish', { base: version, note: '', content: edited })
  await show(page, 'audit?action=settings.publish')
  await page.emulateMedia({ media: 'print' })
  await page.evaluate(`dispatchEvent(new Event('beforeprint'))`)
  const extract = page.getByText('Extract from the audit log: action settings.publish')
  expect(await extract.isVisible()).toBe(true)
  expect(await page.locator('ins', { hasText: 'print@example.com' }).isVisible()).toBe(true)
  expect(await page.getByRole('button', { name: 'Export JSON' }).isVisible()).toBe(false)
  await context.close()
})
