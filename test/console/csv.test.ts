import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/app.ts'
import { deliver, purchase } from '../support/billing.ts'
import { signInOperator } from '../support/operator.ts'

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

test('exports events with their users, products and prices as paid', async () => {
  await using app = await createTestApp()
  const { user } = await app.register('zoe@example.com')
  const paid = { price: 5.4, price_in_purchased_currency: 4.99, currency: 'EUR' }
  await deliver(app, purchase(user._id, { id: 'E1', ...paid }))
  const { text, headers } = await exportOf(app, 'events')
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const date = app.clock.now.toISOString().slice(0, 10)
  expect(headers.get('content-disposition')).toBe(`attachment; filename="events-${date}.csv"`)
  const [event] = rowsOf(text)
  expect(event).toMatchObject({
    received: app.clock.now.toISOString(),
    event_id: 'E1',
    type: 'INITIAL_PURCHASE',
    store: 'APP_STORE',
    product: 'prod_example_pro',
    price: '4.99',
    currency: 'EUR',
    app_user_id: user._id,
    user: 'zoe@example.com',
  })
})

test('exports every page of a list, in the order and with the filter of the screen', async () => {
  await using app = await createTestApp()
  await record(app, 1_201, 'export.test')
  await record(app, 3, 'other.action')
  const { text } = await exportOf(app, 'audit', 'action=export.test&sort=at')
  const targets = rowsOf(text).map(({ target }) => target)
  expect(targets).toEqual(Array.from({ length: 1_201 }, (_, at) => `target ${at}`))
})

test('quotes cells, and defuses those that a spreadsheet would run as a formula', async () => {
  await using app = await createTestApp()
  const texts = [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    '＝1+1',
    '＠SUM(A1)',
    'a "b", c',
    'x;=1',
    'two\nlines',
    'ü',
    'a;"=1+1;b',
    'a;""=1+1',
    '"=1+1',
    'a; =1',
    ' =1',
    '\u00a0=1',
    '\u200b=1',
    'a,=1',
    'a,"+1',
    'a\t"-1',
    'a\n"@SUM(A1)',
    'a\r\n"=1',
    'a\u2028=1',
    'a|=1',
    '＋1',
    '－1',
    'a;"＝1',
    '﹦1',
    '−1',
    'a=b, c-d; e@f',
    'O\'Hara; "x"=1',
  ]
  for (const target of texts) await recordOne(app, { action: 'formula.test', target })
  const { text } = await exportOf(app, 'audit', 'action=formula.test&sort=at')
  const cells = [...text.matchAll(/formula\.test,(.*?),,,/gs)].map(([, cell]) => cell)
  expect(cells).toEqual([
    "'=1+1",
    "'+1",
    "'-1",
    "'@SUM(A1)",
    '"\'\t\'=1"',
    '"\'\r\'=1"',
    '"\'\n\'=1"',
    "'＝1+1",
    "'＠SUM(A1)",
    '"a ""b"", c"',
    '"x;\'=1"',
    '"two\nlines"',
    'ü',
    '"a;\'""=1+1;b"',
    '"a;\'""""=1+1"',
    '"\'""=1+1"',
    '"a;\' =1"',
    "' =1",
    "'\u00a0=1",
    "'\u200b=1",
    '"a,\'=1"',
    '"a,\'""+1"',
    '"a\t\'""-1"',
    '"a\n\'""@SUM(A1)"',
    '"a\r\n\'""=1"',
    "a\u2028'=1",
    "a|'=1",
    "'＋1",
    "'－1",
    '"a;\'""＝1"',
    "'﹦1",
    "'−1",
    '"a=b, c-d; e@f"',
    '"O\'Hara; ""x""=1"',
  ])
})

test('begins with a byte order mark, for Excel', async () => {
  await using app = await createTestApp()
  const { cookie } = await signInOperator(app)
  const url = 'http://localhost/console/api/rates/export.csv'
  const reply: Response = await app.app.handle(new Request(url, { headers: { cookie } }))
  const bytes = new Uint8Array(await reply.arrayBuffer())
  expect([...bytes.slice(0, 3)]).toEqual(BYTE_ORDER_MARK)
})

test('the export of a list with personal data is written to the audit log', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app, { name: 'olga' })
  for (const list of ['events?type=RENEWAL&user=bob', 'people?q=bob', 'rates']) {
    const [path, query = ''] = list.split('?')
    expect((await browser.ask('GET', `${path}/export.csv?${query}`)).status).toBe(200)
  }
  const { entries } = await browser.read('audit?operator=olga')
  const exports = entries.filter(({ action }: { action: string }) => action.endsWith('export-csv'))
  expect(exports).toMatchObject([
    { action: 'people.export-csv', after: { q: '[search text]' } },
    { action: 'events.export-csv', after: { type: 'RENEWAL', user: '[search text]' } },
  ])
})

test('refuses an unknown filter with an error, not a file', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  const { status, json } = await browser.ask('GET', 'events/export.csv?outcome=odd')
  expect([status, json.code]).toEqual([422, 'validation_failed'])
})

test('answers other requests while a large list is exported', async () => {
  await using app = await createTestApp()
  await record(app, 5_000, 'export.test')
  const browser = await signInOperator(app)
  const order: string[] = []
  const exported = browser.ask('GET', 'audit/export.csv').then(() => order.push('export'))
  const other = browser.ask('GET', 'operators').then(() => order.push('operators'))
  await Promise.all([exported, other])
  expect(order).toEqual(['operators', 'export'])
})

async function exportOf(app: TestApp, list: string, query = '') {
  const browser = await signInOperator(app)
  return browser.ask('GET', `${list}/export.csv?${query}`)
}

function rowsOf(text: string): Record<string, string>[] {
  const [head = '', ...lines] = text.trimEnd().split('\r\n')
  const names = head.split(',')
  return lines.map((line) =>
    Object.fromEntries(line.split(',').map((cell, at) => [names[at] ?? '', cell])),
  )
}

async function record(app: TestApp, count: number, action: string) {
  for (let at = 0; at < count; at++) await recordOne(app, { action, target: `target ${at}` })
}

function recordOne(app: TestApp, entry: { action: string; target: string }) {
  return app.services.operators.audit.record({ operator: 'ann', origin: '192.0.2.1', ...entry })
}
