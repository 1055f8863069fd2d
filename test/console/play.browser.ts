import { afterAll, expect } from 'bun:test'
import { createClock } from '../support/app.ts'
import { browserTest, useConsole } from '../support/console.ts'
import { becomeReader, card, textOf, waitUntilLoaded } from '../support/console-browser.ts'
import { servePlayApi } from '../support/play-store/api.ts'
import type { DeveloperNotification } from '../support/play-store/formats.ts'
import { createPlayStore } from '../support/play-store/play-store.ts'
import { PUSH_AUDIENCE } from '../support/play-store/push.ts'
import type { Subscription } from '../support/play-store/subscription.ts'
import { PLAY_PATH } from '../support/play-store/world.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
const QUEUE_TIMEOUT_MS = 10_000

const clock = createClock()
const store = createPlayStore(clock)
const api = servePlayApi(store, () => new Date())
afterAll(() => api[Symbol.asyncDispose]())

const world = useConsole({
  environment: {
    ...api.environment,
    BASE_URL: 'https://api.example.com',
    PLAY_ACKNOWLEDGE: 'never',
  },
})

browserTest('shows each package, the queue, and the values to enter', async () => {
  const { page, context, faults } = await world.open()
  await page.goto('/console/stores')
  await waitUntilLoaded(page)
  const app = card(page, 'com.example.app, Google Play')
  expect(await textOf(app)).toContain('Last notificationnever')
  const queue = card(page, 'Google Play queue')
  expect(await textOf(queue)).toContain('Oldest unacknowledged purchaseNone')
  const setUp = await textOf(card(page, 'Setup in Google Play'))
  expect(setUp).toContain(`https://api.example.com${PLAY_PATH}`)
  expect(setUp).toContain(PUSH_AUDIENCE)
  expect(setUp).toContain('google-play-developer-notifications@system.gserviceaccount.com')
  expect(await page.getByText(/App Store/).count()).toBe(0)
  expect(await page.getByRole('button', { name: /test notification/ }).count()).toBe(0)
  await push(boughtBefore(1))
  await page.reload()
  expect(await textOf(app.locator('time').first())).toMatch(/now|ago/)
  expect(await textOf(queue)).toContain('Oldest unacknowledged purchase1 hour ago')
  expect(await queue.locator('.badge.warn').count()).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

browserTest('warns about a purchase that Google will refund, and lists it', async () => {
  const purchase = boughtBefore(49, 'late_product')
  await push(purchase)
  const { page, context } = await world.open()
  await page.goto('/console/stores')
  const queue = card(page, 'Google Play queue')
  await queue.locator('.badge.warn').waitFor()
  await queue.getByRole('link', { name: '2 days ago' }).click()
  await page.getByText('Google refunds them three days after the purchase.').waitFor()
  const row = page.getByRole('row').filter({ hasText: 'late_product' })
  expect(await textOf(row)).toContain('unacknowledged since')
  const show = page.getByRole('combobox', { name: 'Show' })
  await show.selectOption('Deleted by Google')
  await page.getByText(/no longer stores/).waitFor()
  await page.getByText('No purchases match.').waitFor()
  purchase.acknowledge()
  await world.ask(`purchases/${orderOf(purchase)}/ask`, {})
  await show.selectOption('Unacknowledged')
  await page.getByText('Google refunds them three days after the purchase.').waitFor()
  await row.waitFor({ state: 'detached' })
  await context.close()
})

browserTest('shows a purchase at Google, and refreshes it', async () => {
  const purchase = boughtBefore(1, 'play_product')
  await push(purchase)
  const { page, context, faults } = await world.open()
  await page.goto('/console/purchases')
  await page.getByLabel('Receipt, e-mail or id').fill(`${orderOf(purchase)}..0`)
  await page.keyboard.press('Enter')
  const row = page.getByRole('row').filter({ hasText: 'play_product' })
  await row.getByRole('link', { name: 'Anonymous' }).click()
  await page.getByText('Direct from Google Play').waitFor()
  const atGoogle = card(page, 'Google Play record')
  expect(await textOf(atGoogle)).toMatch(
    /Packagecom\.example\.appLast refreshed.*Next refresh.*Unacknowledged since.*[0-9a-f]{64}Copy hash$/,
  )
  const ask = page.getByRole('button', { name: 'Refresh from Google Play' })
  await ask.click()
  await page.getByText('Already up to date.').waitFor()
  purchase.acknowledge()
  await ask.click()
  await page.getByText('Updated.').waitFor()
  await atGoogle.getByText('Unacknowledged').waitFor({ state: 'detached' })
  clock.now = new Date()
  const [refund] = purchase.refund()
  await deliver(refund)
  await ask.click()
  const state = page.locator('details.card')
  await state.locator('summary').click()
  await state.getByText('Refunded orders').waitFor()
  expect(await textOf(state)).toContain(`Refunded orders${orderOf(purchase)}, `)
  expect(faults).toEqual([])
  await becomeReader(page)
  await page.reload()
  await waitUntilLoaded(page)
  expect(await ask.count()).toBe(0)
  await context.close()
})

browserTest('does not query a purchase that Google has deleted', async () => {
  const purchase = boughtBefore(1, 'forgotten_product')
  await push(purchase)
  const { page, context } = await world.open()
  await page.goto(`/console/purchases/${orderOf(purchase)}`)
  const ask = page.getByRole('button', { name: 'Refresh from Google Play' })
  await ask.waitFor()
  api.faults.push({ status: 410, reason: 'purchaseTokenNoLongerValid' })
  await ask.click()
  await page.getByText(/The purchase ended more than 60 days ago/).waitFor()
  await page.getByText('Deleted by Google on').waitFor()
  expect(await ask.count()).toBe(0)
  await page.goto('/console/purchases?filter=gone')
  const row = page.getByRole('row').filter({ hasText: 'forgotten_product' })
  expect(await textOf(row)).toContain('deleted by Google on')
  await context.close()
})

browserTest('queries the store that an order number belongs to', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/purchases/M123')
  await page.getByRole('button', { name: 'Refresh from App Store' }).waitFor()
  await page.goto('/console/purchases/GPA.0000-0000-0000-00000')
  await page.getByRole('button', { name: 'Refresh from Google Play' }).click()
  await page.getByText(/Homeport has no purchase token for this purchase/).waitFor()
  await context.close()
})

browserTest('checks the connection and says what to do', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/stores')
  const check = page.getByRole('button', { name: 'Check the connection' })
  await check.click()
  await page.getByText('com.example.app: notifications').waitFor()
  expect(await page.locator('main .list .badge.bad').count()).toBe(0)
  api.faults.push(...Array.from({ length: 9 }, () => ({ status: 403 })))
  await check.click()
  await page.getByText(/Google refuses the service account/).waitFor()
  api.faults.length = 0
  await context.close()
})

/** A subscription that was bought some hours ago. */
function boughtBefore(hours: number, product = 'pro_month') {
  clock.now = new Date(Date.now() - hours * HOUR_MS)
  return store.buy({ product })
}

function orderOf({ purchase }: Subscription): string {
  return purchase.lineItems[0]?.latestSuccessfulOrderId ?? ''
}

/** Delivers the notification about a purchase, and waits until the server has queried Google. */
async function push(purchase: Subscription) {
  await deliver(purchase.notification)
  const path = `purchases?id=${orderOf(purchase)}`
  const isQueried = async () => (await world.ask(path)).purchases.length > 0
  await until(isQueried, 'Google is not queried', { deadlineMs: QUEUE_TIMEOUT_MS })
}

async function deliver(notification: DeveloperNotification | null | undefined) {
  if (!notification) throw new Error('there is no notification')
  const { token, json } = api.pushOf(notification)
  const reply = await fetch(world.console.url + PLAY_PATH, {
    method: 'POST',
    body: JSON.stringify(json),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  })
  expect(reply.status).toBe(200)
}
