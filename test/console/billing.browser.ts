import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { browserTest, independentTest, useConsole } from '../support/console.ts'
import { textOf, waitUntilLoaded } from '../support/console-browser.ts'
import { postJson } from '../support/requests.ts'

const MANY = 3000
/** How often the page reloads new events. */
const REFRESH_MS = 5_000
/** Records every progress message. */
const recordStatus = `globalThis.statuses = new Set()
  const record = () => {
    for (const { textContent } of document.querySelectorAll('main [role=status]')) statuses.add(textContent)
  }
  new MutationObserver(record).observe(document.body, {
    subtree: true, childList: true, characterData: true,
  })`

const world = useConsole()

browserTest('a failed event has not changed access', async () => {
  const { page, context } = await world.open()
  await page.goto(await subscriptionOfAnn())
  await waitUntilLoaded(page)
  expect(await textOf(page.locator('.sentence'))).toContain('. Renews on')
  const event = await textOf(cancellation(page))
  expect(event).toContain('failed')
  expect(event).toContain('Not applied')
  await context.close()
})

browserTest('replays a failed event found from the overview', async () => {
  const { page, context, faults } = await world.open()
  await page.goto('/console')
  const tile = page.getByRole('link', { name: /^Failed events/ })
  expect(await textOf(tile)).toContain('1')
  await tile.click()
  await page.locator('main tbody td:first-child a').click()
  await page.getByRole('heading', { name: 'Cancelled' }).waitFor()
  expect(await textOf(page.getByRole('alert'))).toMatch(/^Ann: cancelled on .* Not applied/)
  await page.getByRole('button', { name: 'Replay event' }).click()
  await page.locator('.badge', { hasText: 'applied' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  await page.getByText(/^Now: .*; cancelled on/).waitFor()
  await page.goto(await subscriptionOfAnn())
  await waitUntilLoaded(page)
  expect(await textOf(page.locator('.sentence'))).toContain('; cancelled on')
  const event = await textOf(cancellation(page))
  expect(event).not.toContain('failed')
  expect(event).toMatch(/Will renew: yes →\s+no/)
  await page.getByRole('link', { name: 'Overview' }).click()
  expect(await textOf(tile)).toContain('None')
  expect(faults).toEqual([])
  await context.close()
})

independentTest('opens an event whose id is two dots', async () => {
  const body = { event: { id: '..', type: 'TEST', app_user_id: '..' } }
  const path = '/api/webhooks/billing/v1'
  await postJson(world.console.server, path, body, WEBHOOK_TOKEN)
  const { page, context } = await world.open()
  await page.goto('/console/events?type=TEST')
  await page.locator('main tbody a', { hasText: 'Test' }).first().click()
  await page.getByRole('heading', { name: 'Test' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Test' }).waitFor()
  await context.close()
})

independentTest('links an event to its user and its purchase', async () => {
  const { page, context } = await world.open()
  const { users } = await world.ask('people?q=bob@example.com')
  const { events } = await world.ask(`events?type=RENEWAL&user=${users[0].id}`)
  await page.goto(`/console/events/${events[0].eventId}`)
  await page.getByRole('link', { name: 'Bob' }).click()
  await page.getByRole('heading', { name: 'Bob' }).waitFor()
  await page.goBack()
  await page.getByRole('definition').getByRole('link').first().click()
  await page.getByRole('heading', { name: /^Purchase / }).waitFor()
  await context.close()
})

independentTest('keeps filters in the address across reloads', async () => {
  const { page, context } = await world.open()
  const type = page.getByLabel('Type')
  const environment = page.getByLabel('Environment')
  const types = async () =>
    new Set(await page.locator('main tbody td:first-child a').allTextContents())
  await page.goto('/console/events')
  await waitUntilLoaded(page)
  expect((await types()).size).toBeGreaterThan(3)
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  await type.selectOption('INITIAL_PURCHASE')
  await environment.selectOption('production')
  await page.waitForURL('**/events?type=INITIAL_PURCHASE&environment=production')
  await page.reload()
  await waitUntilLoaded(page)
  expect([await type.inputValue(), await environment.inputValue()]).toEqual([
    'INITIAL_PURCHASE',
    'production',
  ])
  expect([...(await types())]).toEqual(['First purchase'])
  await page.goBack()
  await page.waitForURL('**/events?type=INITIAL_PURCHASE')
  expect(await environment.inputValue()).toBe('')
  await page.goBack()
  await page.getByRole('link', { name: 'Renewed' }).first().waitFor()
  expect(await type.inputValue()).toBe('')
  await context.close()
})

independentTest('shows an unlisted event type as selected', async () => {
  await deliverMany('RARE', 1)
  const { page, context } = await world.open()
  await page.goto('/console/events?type=RARE')
  await waitUntilLoaded(page)
  expect(await page.getByLabel('Type').inputValue()).toBe('RARE')
  await context.close()
})

browserTest('replays all matches with progress and can be stopped', async () => {
  await deliverMany('MANY', MANY)
  const { page, context } = await world.open()
  await page.goto('/console/events?type=MANY')
  await waitUntilLoaded(page)
  await page.evaluate(recordStatus)
  const replay = page.getByRole('button', { name: 'Replay all matches' })
  const many = `${MANY.toLocaleString('en')} events`
  const confirm = page.getByRole('dialog', { name: `Replay ${many}?` })
  await replay.click()
  await confirm.getByRole('button', { name: `Replay ${many}` }).click()
  await page.getByText(`Replayed ${many}, none failed.`).waitFor()
  const messages = await page.evaluate<string[]>('[...statuses]')
  expect(
    messages.filter((text) => /^[\d,]+ of 3,000 replayed, 0 failed$/.test(text)).length,
  ).toBeGreaterThan(2)
  await replay.click()
  await confirm.getByRole('button', { name: `Replay ${many}` }).click()
  const stop = page.getByRole('button', { name: 'Stop' })
  await stop.click()
  await stop.waitFor({ state: 'detached' })
  await page.locator('[aria-busy=true]').waitFor({ state: 'detached' })
  expect(await page.locator('.message.bad').allTextContents()).toEqual([])
  await context.close()
})

browserTest('pages through the log without gaps while events arrive', async () => {
  await deliverMany('PAGED', 120)
  const { page, context } = await world.open()
  await page.clock.install()
  await page.goto('/console/events')
  await waitUntilLoaded(page)
  const rows = page.locator('main tbody td:first-child a')
  const onePage = await rows.count()
  await page.getByRole('button', { name: 'Load more' }).click()
  await rows.nth(onePage).waitFor()
  // The second time, more events arrive than fit on a page.
  for (const [type, count] of [
    ['LATER', 10],
    ['FLOOD', 120],
  ] as const) {
    await deliverMany(type, count)
    await page.clock.runFor(REFRESH_MS)
    await page.getByRole('link', { name: type }).first().waitFor()
    const hrefs = await page.evaluate<string[]>(
      `[...document.querySelectorAll('main tbody td:first-child a')].map((link) => link.pathname)`,
    )
    const shown = hrefs.map((path) => decodeURIComponent(path.split('/').at(-1) ?? ''))
    expect(shown).toEqual((await newestIds(shown.length)).slice(0, shown.length))
  }
  await context.close()
})

async function subscriptionOfAnn(): Promise<string> {
  const { users } = await world.ask('people?q=ann@example.com')
  return `/console/people/${users[0].id}/subscription`
}

function cancellation(page: Page) {
  return page.getByRole('row', { name: /Cancelled/ })
}

async function deliverMany(type: string, count: number) {
  const at = Date.now()
  const deliver = (_: unknown, number: number) => {
    const event = { id: `${type}-${number}`, type, event_timestamp_ms: at, app_user_id: 'a-user' }
    return postJson(world.console.server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
  }
  await Promise.all(Array.from({ length: count }, deliver))
}

async function newestIds(count: number): Promise<string[]> {
  const found: { eventId: string }[] = []
  for (let after = ''; found.length < count; ) {
    const { events, next } = await world.ask(after === '' ? 'events' : `events?after=${after}`)
    found.push(...events)
    after = next
  }
  return found.map(({ eventId }) => eventId)
}
