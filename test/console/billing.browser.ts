import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { browserTest, independentTest, useConsole } from '../support/console.ts'
import { settled, textOf } from '../support/console-browser.ts'
import { postJson } from '../support/requests.ts'

const MANY = 3000
/** How often the page looks for new events, in ms. */
const LOOK_EVERY = 5_000
/** Keeps what every place for progress says. */
const listen = `globalThis.said = new Set()
  const note = () => {
    for (const { textContent } of document.querySelectorAll('main [role=status]')) said.add(textContent)
  }
  new MutationObserver(note).observe(document.body, {
    subtree: true, childList: true, characterData: true,
  })`

const world = useConsole()

browserTest('an event that failed has changed nothing yet', async () => {
  const { page, context } = await world.open()
  await page.goto(await subscriptionOfAnn())
  await settled(page)
  expect(await textOf(page.locator('.sentence'))).toContain('and will renew')
  const event = await textOf(cancellation(page))
  expect(event).toContain('failed')
  expect(event).toContain('would change')
  await context.close()
})

browserTest('it is found from the overview, replayed, and changes what is said', async () => {
  const { page, context, faults } = await world.open()
  await page.goto('/console')
  const tile = page.getByRole('link', { name: /^Events that failed/ })
  expect(await textOf(tile)).toContain('1')
  await tile.click()
  await page.locator('main .list a').click()
  await page.getByRole('heading', { name: 'CANCELLATION' }).waitFor()
  expect(await textOf(page.getByRole('alert'))).toStartWith('It could not be applied: ')
  await page.getByRole('button', { name: 'Replay this event' }).click()
  await page.locator('.badge', { hasText: 'applied' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await textOf(page.locator('.sentence'))).toContain('will not renew (cancelled on')
  await page.goto(await subscriptionOfAnn())
  await settled(page)
  expect(await textOf(page.locator('.sentence'))).toContain('will not renew (cancelled on')
  const event = await textOf(cancellation(page))
  expect(event).not.toContain('failed')
  expect(event).toMatch(/willRenew: yes →\s+no/)
  await page.getByRole('link', { name: 'Overview' }).click()
  expect(await textOf(tile)).toContain('none')
  expect(faults).toEqual([])
  await context.close()
})

independentTest('an event whose id is dots opens', async () => {
  const body = { event: { id: '..', type: 'TEST', app_user_id: '..' } }
  const path = '/api/webhooks/billing/v1'
  await postJson(world.console.server, path, body, WEBHOOK_TOKEN)
  const { page, context } = await world.open()
  await page.goto('/console/events?type=TEST')
  await page.locator('main .list a', { hasText: 'TEST' }).first().click()
  await page.getByRole('heading', { name: 'TEST' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'TEST' }).waitFor()
  await context.close()
})

independentTest('an event leads to its person', async () => {
  const { page, context } = await world.open()
  const { events } = await world.ask('events?type=RENEWAL')
  await page.goto(`/console/events/${events[0].eventId}`)
  await page.getByRole('link', { name: events[0].appUserId }).click()
  await page.getByRole('link', { name: 'bob@example.com' }).click()
  await page.getByRole('heading', { name: 'Bob' }).waitFor()
  await context.close()
})

independentTest('filters are in the address, and are there again after a reload', async () => {
  const { page, context } = await world.open()
  const type = page.getByLabel('Type')
  const environment = page.getByLabel('Environment')
  const types = async () => new Set(await page.locator('main .list > li > a').allTextContents())
  await page.goto('/console/events')
  await settled(page)
  expect((await types()).size).toBeGreaterThan(3)
  await type.selectOption('INITIAL_PURCHASE')
  await environment.selectOption('production')
  await page.waitForURL('**/events?type=INITIAL_PURCHASE&environment=production')
  await page.reload()
  await settled(page)
  expect([await type.inputValue(), await environment.inputValue()]).toEqual([
    'INITIAL_PURCHASE',
    'production',
  ])
  expect([...(await types())]).toEqual(['INITIAL_PURCHASE'])
  await page.goBack()
  await page.waitForURL('**/events?type=INITIAL_PURCHASE')
  expect(await environment.inputValue()).toBe('')
  await page.goBack()
  await page.getByRole('link', { name: 'RENEWAL' }).waitFor()
  expect(await type.inputValue()).toBe('')
  await context.close()
})

independentTest('a type that is not among the usual ones is shown as chosen', async () => {
  await deliverMany('RARE', 1)
  const { page, context } = await world.open()
  await page.goto('/console/events?type=RARE')
  await settled(page)
  expect(await page.getByLabel('Type').inputValue()).toBe('RARE')
  await context.close()
})

browserTest('replaying all that match says how far it is, and can be stopped', async () => {
  await deliverMany('MANY', MANY)
  const { page, context } = await world.open()
  await page.goto('/console/events?type=MANY')
  await settled(page)
  await page.evaluate(listen)
  const replay = page.getByRole('button', { name: 'Replay all that match' })
  await replay.click()
  await page.getByText(`Replayed ${MANY.toLocaleString('en')} events, 0 of them fail.`).waitFor()
  const said = await page.evaluate<string[]>('[...said]')
  expect(said.filter((text) => /^[\d,]+ replayed, 0 fail$/.test(text)).length).toBeGreaterThan(2)
  await replay.click()
  const stop = page.getByRole('button', { name: 'Stop' })
  await stop.click()
  await stop.waitFor({ state: 'detached' })
  await page.locator('[aria-busy=true]').waitFor({ state: 'detached' })
  expect(await page.locator('.message.bad').allTextContents()).toEqual([])
  await context.close()
})

browserTest('a long log goes on page by page, and has no gap when new events come', async () => {
  await deliverMany('PAGED', 120)
  const { page, context } = await world.open()
  await page.clock.install()
  await page.goto('/console/events')
  await settled(page)
  const rows = page.locator('main .list > li > a')
  const onePage = await rows.count()
  await page.getByRole('button', { name: /^(More|Look further back)$/ }).click()
  await rows.nth(onePage).waitFor()
  await deliverMany('LATER', 10)
  await page.clock.runFor(LOOK_EVERY)
  await page.getByRole('link', { name: 'LATER' }).first().waitFor()
  const hrefs = await page.evaluate<string[]>(
    `[...document.querySelectorAll('main .list > li > a')].map((link) => link.pathname)`,
  )
  const shown = hrefs.map((path) => decodeURIComponent(path.split('/').at(-1) ?? ''))
  expect(shown).toEqual((await newestIds(shown.length)).slice(0, shown.length))
  await context.close()
})

async function subscriptionOfAnn(): Promise<string> {
  const { users } = await world.ask('people?q=ann@example.com')
  return `/console/people/${users[0].id}/subscription`
}

function cancellation(page: Page) {
  return page.locator('.list > li', { hasText: 'CANCELLATION' })
}

async function deliverMany(type: string, count: number) {
  const at = Date.now()
  const deliver = (_: unknown, number: number) => {
    const event = { id: `${type}-${number}`, type, event_timestamp_ms: at, app_user_id: 'somebody' }
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
