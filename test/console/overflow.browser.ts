import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { browserTest, useConsole } from '../support/console.ts'
import { findOverflow, show } from '../support/console-browser.ts'
import { postJson } from '../support/requests.ts'

const DAY_MS = 86_400_000
/** `₹1,23,45,67,890.12`, in thousandths of a rupee. */
const RUPEES = 1_234_567_890_120
const NAME = 'Krishnamoorthy Venkataraman Subramaniam-Balakrishnan'
const LONG_WORD = 'Wolfeschlegelsteinhausenbergerdorff'.repeat(2)
const SCREENS = ['business', 'business?figure=churned', '', 'people', 'purchases', 'events']

const world = useConsole({ environment: { WEBHOOK_TOKEN } })

browserTest('long amounts and names stay within their cards and the page', async () => {
  await buyInRupees()
  const { page, context, faults } = await world.open()
  await serveRupees(page)
  const findings: string[] = []
  for (const width of [375, 1440, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    for (const path of SCREENS) {
      await show(page, path)
      const spilled = [await findOverflow(page), ...(await findSpilledTexts(page))].filter(Boolean)
      findings.push(...spilled.map((text) => `${width} ${path}: ${text}`))
    }
  }
  expect(findings).toEqual([])
  for (const width of [1440, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    for (const path of ['people', 'purchases']) {
      await show(page, path)
      for (const row of await page.locator('.rows tbody tr').all())
        expect((await row.boundingBox())?.height).toBeWithin(38, 42)
    }
  }
  expect(faults).toEqual([])
  await context.close()
})

/** A user with long names buys for a long amount. */
async function buyInRupees() {
  const { server } = world.console
  const email = `${LONG_WORD.toLowerCase().slice(0, 60)}@${'subdomain.'.repeat(8)}example.com`
  const account = {
    email,
    password: 'correct horse battery',
    name: `${NAME} ${LONG_WORD.slice(0, 45)}`,
  }
  await postJson(server, '/api/auth/register/v1', account)
  const { users } = await world.ask(`people?q=${email}`)
  const event = {
    id: 'RUPEES',
    type: 'INITIAL_PURCHASE',
    app_user_id: users[0].id,
    environment: 'PRODUCTION',
    store: 'PLAY_STORE',
    product_id: `com.example.${'subscription.'.repeat(6)}yearly`,
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    purchased_at_ms: Date.now() - DAY_MS,
    event_timestamp_ms: Date.now() - DAY_MS,
    expiration_at_ms: Date.now() + 300 * DAY_MS,
    price: RUPEES / 83_000,
    price_in_purchased_currency: RUPEES / 1000,
    currency: 'INR',
    original_transaction_id: 'GPA.3312-0000-1111-22222',
    transaction_id: 'GPA.3312-0000-1111-22222..3',
  }
  await postJson(server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
}

/** Serves the figures of a large app, because counting them would take too long. */
async function serveRupees(page: Page) {
  await page.route(/\/console\/api\/business/, async (route) => {
    const reply = await route.fetch()
    const { response, ...rest } = await reply.json()
    const amounts = { paid: RUPEES, refunded: RUPEES / 3, recurring: RUPEES, new: 12_345_678 }
    const enlarge = (month: object, at: number) => ({
      ...month,
      ...amounts,
      churned: at * 1_000_000,
    })
    const row = { name: LONG_WORD, active: 12_345_678, new: 1, churned: 1, revenue: RUPEES }
    const breakdowns = {
      plan: [row, { ...row, name: NAME }],
      store: [row],
      country: [{ ...row, name: 'IN' }],
    }
    const months = response.months.map(enlarge)
    const payments = [{ currency: 'INR', paid: RUPEES, refunded: RUPEES / 3 }]
    const before = enlarge(response.before, 7)
    const changed = { ...response, currency: 'INR', months, before, breakdowns, payments }
    await route.fulfill({ json: { ...rest, response: changed } })
  })
}

/** The texts that overflow their card, tile or list. */
function findSpilledTexts(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const spilled = []
    const range = document.createRange()
    const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const boxes = 'td, .tile, .card, .list, .rows'
      let box = node.parentElement.closest(boxes)
      // A cell without a box of its own.
      while (box && box.getClientRects().length === 0) box = box.parentElement.closest(boxes)
      if (!box || node.parentElement.closest('.scroll, .unseen, .clip, title, option')) continue
      // Cut off with an ellipsis.
      if (getComputedStyle(box).overflowX === 'hidden') continue
      range.selectNodeContents(node)
      const { left, right } = box.getBoundingClientRect()
      const isOutside = [...range.getClientRects()].some(
        (text) => text.width > 1 && (text.right > right + 1 || text.left < left - 1),
      )
      if (isOutside) spilled.push(node.data.slice(0, 60))
    }
    return spilled
  })()`)
}
