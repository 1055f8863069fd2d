import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/app.ts'
import { deliver, purchase } from '../support/billing.ts'
import { type OperatorBrowser, signInOperator } from '../support/operator.ts'

type Page = { next: string | null } & Record<string, unknown>

test.each([
  ['events', 'events', ['received', '-received'], deliverEvent],
  ['audit?action=list.test', 'entries', ['at', '-at'], recordEntry],
] as const)('reads each row of %s once, while rows are added', async (path, key, orders, add) => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  for (let at = 0; at < 120; at++) await add(app, at)
  const ids: string[][] = []
  for (const sort of orders) {
    ids.push(
      await readAll(browser, `${path}${path.includes('?') ? '&' : '?'}sort=${sort}`, key, () =>
        add(app, 1_000),
      ),
    )
  }
  const [ascending = [], descending = []] = ids
  expect(new Set(ascending).size).toBe(ascending.length)
  expect(new Set(descending).size).toBe(descending.length)
  expect(ascending).toEqual(ascending.toSorted())
  expect(descending).toEqual(descending.toSorted().toReversed())
  // Rows that are added while reading come last, or belong above the first page.
  expect(descending.length).toBeGreaterThanOrEqual(120)
  expect(ascending.length).toBeGreaterThanOrEqual(120)
  expect(descending).toEqual(expect.arrayContaining(ascending.slice(0, 120)))
})

test('counts up to 1,001 rows, and only with an index', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  const totals: (number | null)[] = []
  for (let count = 1; count <= 1_003; count++) {
    await recordEntry(app, count)
    if (count >= 999) totals.push((await browser.read('audit?action=list.test')).total)
  }
  expect(totals).toEqual([999, 1_000, 1_001, 1_001, 1_001])
  expect((await browser.read('audit?action=list.test&target=none')).total).toBeNull()
  expect((await browser.read('events?type=RENEWAL')).total).toBeNull()
  expect((await browser.read('events?type=TRANSFER')).total).toBe(0)
  const { next, total } = await browser.read('audit?action=list.test')
  expect(total).toBe(1_001)
  expect((await browser.read(`audit?action=list.test&after=${next}`)).total).toBeNull()
})

test('lists name the users of their rows', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  const { user } = await app.register('zoe@example.com')
  await deliver(app, purchase(user._id))
  await deliver(app, purchase('a stranger', { transaction_id: '2', original_transaction_id: '2' }))
  await browser.ask('POST', `people/${user._id}/verify`, { json: {} })
  const names = { [user._id]: 'zoe@example.com' }
  expect((await browser.read('events')).names).toEqual(names)
  expect((await browser.read('audit?action=user.verify')).names).toEqual(names)
})

test('refuses to sort by a column without an index', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  for (const path of ['events?sort=type', 'audit?sort=operator']) {
    expect([path, (await browser.ask('GET', path)).status]).toEqual([path, 422])
  }
})

/** The ids of all rows. `between` runs after each page, at most three times. */
async function readAll(
  browser: OperatorBrowser,
  path: string,
  key: string,
  between: () => Promise<unknown>,
): Promise<string[]> {
  const ids: string[] = []
  let left = 3
  for (let after: string | null = ''; after !== null; ) {
    const cursor = after === '' ? '' : `&after=${encodeURIComponent(after)}`
    const page: Page = await browser.read(`${path}${cursor}`)
    ids.push(...(page[key] as { id: string }[]).map(({ id }) => id))
    if (left-- > 0) await between()
    after = page.next
  }
  return ids
}

function deliverEvent(app: TestApp, at: number) {
  return deliver(app, purchase(`user ${at}`))
}

function recordEntry(app: TestApp, at: number) {
  const entry = { action: 'list.test', target: `target ${at}` }
  return app.services.operators.audit.record({ operator: 'ann', origin: '192.0.2.1', ...entry })
}
