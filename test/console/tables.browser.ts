import { expect } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { browserTest, useConsole } from '../support/console.ts'
import { findBrokenWords, findOverflow, press, show } from '../support/console-browser.ts'
import { postJson } from '../support/requests.ts'
import { until } from '../support/until.ts'

const COUNT = 130

const world = useConsole()

browserTest('lists have headings, a caption, a total and names', async () => {
  const { page, context } = await world.open()
  await show(page, 'events')
  const table = page.getByRole('table', { name: 'Billing events' })
  expect(await table.getByRole('columnheader').allTextContents()).toEqual([
    'Type',
    'User',
    'Product',
    'Price',
    'Store',
    'Outcome',
    'Received',
  ])
  expect(await page.getByText(/^\d+ events$/).count()).toBe(1)
  const ann = table.getByRole('link', { name: 'Ann' }).first()
  const { users } = await world.ask('people?q=ann@example.com')
  expect(await ann.getAttribute('title')).toBe(users[0].id)
  expect(await table.getByText('$9.99').count()).toBeGreaterThan(1)
  await context.close()
})

browserTest(
  'shows that a list is loading under a new filter, and the filter keeps the focus',
  async () => {
    const { page, context } = await world.open()
    await show(page, 'events')
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/api/events?*', async (route) => {
      await held
      await route.continue()
    })
    const user = page.getByLabel('App user id')
    await press(page, 'Filters')
    await user.fill('nobody')
    await user.press('Enter')
    await page.getByRole('status', { name: 'Loading' }).waitFor()
    expect(await page.getByText(/^\d+ events$/).count()).toBe(0)
    expect(await page.evaluate<string>('document.activeElement.value')).toBe('nobody')
    release()
    await page.getByText('No events match.').waitFor()
    await context.close()
  },
)

browserTest('sorts on the server and in the browser, kept in the address', async () => {
  await deliverMany()
  const { page, context } = await world.open()
  await show(page, 'events')
  const received = page.getByRole('columnheader', { name: 'Received' })
  expect(await received.getAttribute('aria-sort')).toBe('descending')
  await received.getByRole('link').click()
  await page.waitForURL('**/events?sort=received')
  await page.locator('th[aria-sort=ascending]').waitFor()
  await waitForFirst(page, 'First purchase')
  await page.reload()
  await waitForFirst(page, 'First purchase')
  expect(await received.getAttribute('aria-sort')).toBe('ascending')
  await show(page, 'rates?sort=-rate')
  const rates = await page.locator('tbody td.number').allTextContents()
  expect(rates.map(Number)).toEqual(rates.map(Number).toSorted((a, b) => b - a))
  await context.close()
})

browserTest('Back shows the loaded pages at the same position', async () => {
  await deliverMany()
  const { page, context } = await world.open()
  await show(page, 'events')
  const links = page.locator('main tbody td:first-child a')
  const onePage = await links.count()
  await page.getByRole('button', { name: 'Load more' }).click()
  await links.nth(onePage + 20).waitFor()
  const link = links.nth(onePage + 20)
  const href = await link.getAttribute('href')
  await link.scrollIntoViewIfNeeded()
  const before = await page.evaluate<number>('scrollY')
  expect(before).toBeGreaterThan(500)
  await link.click()
  await page.getByText('Raw data').waitFor()
  await page.goBack()
  await links.nth(onePage + 20).waitFor()
  const isRestored = async () => Math.abs((await page.evaluate<number>('scrollY')) - before) < 100
  await until(isRestored, 'the position is not restored')
  expect(await links.count()).toBeGreaterThan(onePage + 20)
  expect(await page.evaluate<string>('document.activeElement.getAttribute("href")')).toBe(
    href ?? '',
  )
  await context.close()
})

browserTest('downloads a list with its filter as CSV', async () => {
  const { page, context } = await world.open()
  await show(page, 'events?type=CANCELLATION')
  const started = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const download = await started
  expect(download.suggestedFilename()).toMatch(/^events-\d{4}-\d\d-\d\d\.csv$/)
  const { events } = await world.ask('events?type=CANCELLATION')
  expect(events.length).toBeGreaterThan(0)
  const [, ...lines] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
  expect(lines).toHaveLength(events.length)
  expect(lines.filter((line) => !line.includes(',CANCELLATION,'))).toEqual([])
  await context.close()
})

browserTest('the audit log is filtered by local days and links to its targets', async () => {
  const { page, context } = await world.open({ timezoneId: 'Pacific/Kiritimati' })
  const { users } = await world.ask('people?q=ann@example.com')
  const { id } = users[0]
  await world.ask(`people/${id}/notes`, { text: 'Called.' })
  const { eventId } = (await world.ask('events')).events[0]
  await world.ask(`events/${encodeURIComponent(eventId)}/replay`, {})
  await show(page, 'audit')
  const link = (action: string) =>
    page.getByRole('row', { name: action }).getByRole('link').first().getAttribute('href')
  expect(await link('Added a note to')).toBe(`/console/people/${id}`)
  expect(await link('Replayed event')).toBe(`/console/events/${encodeURIComponent(eventId)}`)

  const start = new Date(Date.now() + 14 * 3_600_000)
  const day = start.toISOString().slice(0, 10)
  const nextDay = new Date(Date.parse(day) + 86_400_000)
  await press(page, 'Filters')
  const asked = page.waitForRequest(/until=/)
  await page.getByLabel('Until').fill(day)
  const until = new URL((await asked).url()).searchParams.get('until') ?? ''
  expect(Date.parse(until)).toBe(nextDay.getTime() - 14 * 3_600_000)
  await page.getByRole('row', { name: 'Added a note to' }).waitFor()
  await page.getByLabel('From', { exact: true }).fill(nextDay.toISOString().slice(0, 10))
  await page.getByText('No entries match.').waitFor()
  await context.close()
})

browserTest('a day that is typed applies once its year is complete', async () => {
  const { page, context } = await world.open({ locale: 'en-US' })
  await show(page, 'audit')
  await press(page, 'Filters')
  await page.getByLabel('From', { exact: true }).focus()
  await page.keyboard.type('11052026')
  await page.waitForURL('**/audit?from=2026-11-05')
  await page.goBack()
  await page.waitForURL('**/audit')
  await page.goto('/console/audit?from=0202-11-05')
  await page.getByRole('alert').waitFor()
  await context.close()
})

browserTest('the audit log uses titles, labels and languages', async () => {
  const { page, context } = await world.open()
  const { content: others } = await world.ask('faqs')
  for (const answer of ['By card.', 'In cash.']) {
    const faq = { question: { en: 'How do I pay?' }, answer: { en: answer }, category: 'Billing' }
    const { version: base } = await world.ask('faqs')
    await world.ask('faqs/publish', { base, note: '', content: [...others, faq] })
  }
  await show(page, 'audit')
  await page.locator('summary', { hasText: 'How do I pay? › Answer (English): By card.' }).waitFor()
  const options = await page.getByLabel('Action').locator('option').allTextContents()
  expect(options.filter((option, at) => options.indexOf(option) !== at)).toEqual([])
  await context.close()
})

browserTest('a row has two lines on a phone, and tapping it opens its screen', async () => {
  const { page, context } = await world.open({ viewport: { width: 375, height: 700 } })
  await show(page, 'people')
  const row = page.locator('main tr', { hasText: 'ann@example.com' })
  const labels = `[...document.querySelectorAll('tbody td')].map((cell) => getComputedStyle(cell, '::before').content)`
  expect(await page.evaluate<string[]>(labels)).toContain('"Platform "')
  const { height = 999 } = (await row.boundingBox()) ?? {}
  expect(height).toBeLessThan(80)
  await row.click({ position: { x: 300, y: height - 20 } })
  await page.getByRole('region', { name: 'At a glance' }).waitFor()
  await show(page, 'events?outcome=failed')
  await page.getByRole('row', { name: 'Ann' }).first().getByRole('link', { name: 'Ann' }).click()
  await page.waitForURL('**/subscription')
  await show(page, 'rates')
  const [code, rate] = await Promise.all(
    ['td:first-child', 'td.number'].map(async (cell) => {
      const { y = 0 } = (await page.locator(`tbody ${cell}`).first().boundingBox()) ?? {}
      return y
    }),
  )
  expect(rate).toBe(code)
  await page.getByLabel('Find a currency').fill('brazil')
  expect(await page.locator('tbody td:first-child').allTextContents()).toEqual(['BRL'])
  await context.close()
})

browserTest('centres a dialog that a row opens', async () => {
  await world.ask('api-keys', {
    name: 'render',
    scopes: ['users:read'],
    networks: [],
    expiresInDays: null,
    requestsPerMinute: null,
  })
  for (const width of [375, 1280]) {
    const { page, context } = await world.open({ viewport: { width, height: 700 } })
    await show(page, 'api-keys')
    await press(page, 'Revoke render')
    await expectCentred(page, width)
    await show(page, 'operators')
    await page.getByText('Manage', { exact: true }).first().click()
    await press(page, 'Remove olga')
    await expectCentred(page, width)
    await context.close()
  }
})

browserTest('breaks no words in tables', async () => {
  const { page, context } = await world.open({ viewport: { width: 1024, height: 700 } })
  // Texts as long as those of real users.
  await page.route('**/console/api/**', async (route) => {
    // The stream of the session does not end.
    if (route.request().headers()['accept'] === 'text/event-stream') return route.continue()
    const response = await route.fetch()
    const body = (await response.text())
      .replaceAll('@example.com', '.surname@mail.provider.example.com')
      .replaceAll('"Pro, monthly"', '"com.example.promotional.monthly"')
    await route.fulfill({ response, body })
  })
  for (const path of ['people', 'purchases', 'events', 'api-keys', 'operators']) {
    await show(page, path)
    for (const width of [320, 375, 1024, 1280]) {
      await page.setViewportSize({ width, height: 700 })
      const found = [await findBrokenWords(page), await findOverflow(page)]
      expect([path, width, ...found]).toEqual([path, width, [], ''])
    }
  }
  await context.close()
})

async function expectCentred(page: Page, width: number) {
  const dialog = page.getByRole('dialog')
  const box = await dialog.boundingBox()
  expect(Math.round(2 * (box?.x ?? 0) + (box?.width ?? 0))).toBe(width)
  expect(Math.abs(2 * (box?.y ?? 0) + (box?.height ?? 0) - 700)).toBeLessThan(2)
  const buttons = await dialog.locator('.actions.end > button').all()
  const boxes = await Promise.all(buttons.map((button) => button.boundingBox()))
  if (width === 375) expect(new Set(boxes.map((one) => one?.width)).size).toBe(1)
  const alignment = 'getComputedStyle(document.querySelector("dialog p")).textAlign'
  expect(await page.evaluate<string>(alignment)).toBe('start')
}

function waitForFirst(page: Page, type: string) {
  return page.locator('tbody tr').first().getByRole('link', { name: type }).waitFor()
}

let isDelivered = false

async function deliverMany() {
  if (isDelivered) return
  isDelivered = true
  for (let number = 0; number < COUNT; number++) {
    const event = { id: `MANY-${number}`, type: 'TEST', app_user_id: `$RCAnonymousID:${number}` }
    await postJson(world.console.server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
  }
}
