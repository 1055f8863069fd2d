import { describe, expect, test } from 'bun:test'
import firstRates from '../../../data/seed/rates.json' with { type: 'json' }
import { berlinTime, createFeed } from '../../../src/features/rates/providers.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { ecbXml, startFeed } from '../../support/feed.ts'
import { signInOperator } from '../../support/operator.ts'

const NEXT = '2026-07-07'
const { rates: seeded } = firstRates
const ECB = { RATES_PROVIDER: 'ecb' }

test('a new publication is stored and served with its own time', async () => {
  using feed = startFeed(() => new Response(ecbXml(NEXT, { ...seeded, USD: 1.15 })))
  await using app = await createTestApp({ ...ECB, RATES_URL: feed.url })
  expect(await refresh(app)).toEqual({ outcome: 'stored', date: NEXT, held: [] })
  const { baseCode, rates, updatedAt } = await served(app)
  expect(baseCode).toBe('USD')
  expect(updatedAt).toBe('2026-07-07T14:00:00.000Z')
  expect(rates['EUR']).toBe(Number((1 / 1.15).toPrecision(12)))
  expect(rates['USD']).toBe(1)
  // The ECB does not publish the dirham, which is pegged to the dollar.
  expect(rates['AED']).toBe(3.6725)
  const [headers] = feed.requestHeaders
  expect(headers?.get('user-agent')).toContain('homeport')
  expect(headers?.get('accept')).toContain('xml')
  expect(headers?.get('accept-encoding')).toBe('identity')
})

test('sends back the provider’s ETag, and keeps the rates on 304', async () => {
  using feed = startFeed((request) =>
    request.headers.get('if-none-match') === '"v1"'
      ? new Response(null, { status: 304 })
      : new Response(ecbXml(NEXT, seeded), { headers: { etag: '"v1"' } }),
  )
  await using app = await createTestApp({ ...ECB, RATES_URL: feed.url })
  expect((await refresh(app)).outcome).toBe('stored')
  expect(await app.services.rates.isDue()).toBe(false)
  app.clock.advance(4 * 24 * 60 * 60_000)
  expect(await app.services.rates.isDue()).toBe(true)
  expect((await refresh(app)).outcome).toBe('unchanged')
  expect(await app.services.rates.isDue()).toBe(false)
})

test('different rates for the same day are stored', async () => {
  const [first, second] = [1.1, 1.11].map((USD) => ({
    base: 'EUR',
    date: '2026-07-07',
    rates: { USD },
  }))
  const replies = [first, second, second]
  using feed = startFeed(() => Response.json({ amount: 1, ...replies.shift() }))
  await using app = await createTestApp({ RATES_PROVIDER: 'frankfurter', RATES_URL: feed.url })
  const outcomes: string[] = []
  for (let time = 0; time < 3; time++) outcomes.push((await refresh(app)).outcome)
  expect(outcomes).toEqual(['stored', 'stored', 'unchanged'])
})

test('RATES_BASE sets the base currency, even if it is the provider’s', async () => {
  using feed = startFeed(() => new Response(ecbXml(NEXT, seeded)))
  for (const base of ['EUR', 'GBP', 'SAR']) {
    await using app = await createTestApp({ ...ECB, RATES_BASE: base, RATES_URL: feed.url })
    expect((await refresh(app)).outcome).toBe('stored')
    const { baseCode, rates } = await served(app)
    expect([baseCode, rates[base]]).toEqual([base, 1])
    expect(rates['USD']).toBeGreaterThan(0)
  }
})

test('without rates for RATES_BASE, the console says so and shows everything else', async () => {
  await using app = await createTestApp({
    ...ECB,
    RATES_BASE: 'ARS',
    RATES_URL: 'http://127.0.0.1:1/',
  })
  expect((await app.ask('GET', '/api/user/currency_rates/v1')).status).toBe(503)
  const ann = await signInOperator(app)
  expect(await ann.read('rates')).toMatchObject({ baseCode: 'ARS', updatedAt: null, rates: {} })
  expect((await ann.read('overview')).rates).toEqual({ updatedAt: null, isRefreshed: true })
  expect((await app.ask('GET', '/ready')).json.rates).toBe('stale')
})

const PROVIDER_FAULTS = fault(135, 136, 137, 138, 139)

describe('keeps the last valid rates when the provider', () => {
  const invalidReplies: [string, () => Response][] = [
    ['answers 500', () => new Response('oops', { status: 500 })],
    ['answers 429', () => new Response('', { status: 429, headers: { 'retry-after': '60' } })],
    ['sends an HTML page', () => new Response('<!doctype html><html><body>Blocked</body></html>')],
    ['sends an empty reply', () => new Response('')],
    ['sends JSON', () => Response.json({ rates: {} })],
    ['truncates its file', () => new Response(ecbXml(NEXT, seeded).slice(0, 900))],
    ['sends too much', () => new Response(' '.repeat(300_000))],
    [
      'compresses without being asked',
      () =>
        new Response(Bun.gzipSync(Buffer.from(ecbXml(NEXT, seeded))), {
          headers: { 'content-encoding': 'gzip' },
        }),
    ],
    ['redirects to a file', () => redirect('file:///etc/hostname')],
    ['redirects to an internal address', () => redirect('http://169.254.169.254/')],
    ['has no date', () => new Response(ecbXml('', seeded))],
    ['has an invalid date', () => new Response(ecbXml('2026-02-31x', seeded))],
    ['has an older date than before', () => new Response(ecbXml('2026-07-03', seeded))],
    ['has a date far in the future', () => new Response(ecbXml('2099-01-01', seeded))],
    ['lacks the dollar', () => new Response(ecbXml(NEXT, without('USD')))],
    ['has too few currencies', () => new Response(ecbXml(NEXT, { USD: 1.14, GBP: 0.85 }))],
    [
      'inverts its rates',
      () =>
        new Response(
          ecbXml(
            NEXT,
            mapRates((rate) => 1 / rate),
          ),
        ),
    ],
    [
      'has rates that are ten times too high',
      () =>
        new Response(
          ecbXml(
            NEXT,
            mapRates((rate) => rate * 10),
          ),
        ),
    ],
  ]
  test.each(invalidReplies)(`%s ${PROVIDER_FAULTS}`, async (_what, reply) => {
    using feed = startFeed(reply)
    await using app = await createTestApp({ ...ECB, RATES_URL: feed.url })
    const before = await served(app)
    const outcome = await refresh(app)
    expect(['failed', 'refused']).toContain(outcome.outcome)
    expect(await served(app)).toEqual(before)
  })

  test(`cannot be reached ${PROVIDER_FAULTS}`, async () => {
    await using app = await createTestApp({ ...ECB, RATES_URL: 'http://127.0.0.1:1/' })
    expect(await refresh(app)).toEqual({
      outcome: 'failed',
      reason: '127.0.0.1:1 cannot be reached',
    })
  })

  test(`never answers ${PROVIDER_FAULTS}`, async () => {
    using feed = startFeed(() => new Promise<Response>(() => {}))
    await using app = await createTestApp({ ...ECB, RATES_URL: feed.url })
    const stopped = await app.services.rates.refresh(AbortSignal.timeout(200))
    expect(stopped.outcome).toBe('failed')
  })
})

test('rejects a jump in a rate until a second publication confirms it', async () => {
  const days: [string, number][] = [
    ['2026-07-07', 120],
    ['2026-07-08', 121],
  ]
  using feed = startFeed(() => {
    const [date, rate] = days.shift() ?? ['', 0]
    return new Response(ecbXml(date, { ...seeded, TRY: rate }))
  })
  await using app = await createTestApp({ ...ECB, RATES_BASE: 'EUR', RATES_URL: feed.url })
  expect(await refresh(app)).toEqual({ outcome: 'stored', date: '2026-07-07', held: ['TRY'] })
  expect((await served(app)).rates['TRY']).toBe(seeded.TRY)
  expect(await refresh(app)).toEqual({ outcome: 'stored', date: '2026-07-08', held: [] })
  expect((await served(app)).rates['TRY']).toBe(121)
})

test('discards a jump that the next publication reverts', async () => {
  const rates = [120, seeded.TRY * 1.01]
  using feed = startFeed(() => {
    const rate = rates.shift() ?? 0
    return new Response(
      ecbXml(rates.length === 1 ? '2026-07-07' : '2026-07-08', { ...seeded, TRY: rate }),
    )
  })
  await using app = await createTestApp({ ...ECB, RATES_BASE: 'EUR', RATES_URL: feed.url })
  await refresh(app)
  await refresh(app)
  expect((await served(app)).rates['TRY']).toBe(Number((seeded.TRY * 1.01).toPrecision(12)))
})

test('accepts another base from the provider, even on the same day, and still compares the rates', async () => {
  const replies = [
    { base: 'EUR', date: '2026-07-07', rates: { USD: 1.1, GBP: 0.83, JPY: 165, TRY: 44 } },
    { base: 'USD', date: '2026-07-07', rates: { EUR: 0.9, GBP: 0.75, JPY: 150, TRY: 400 } },
    { base: 'EUR', date: '2026-07-08', rates: { USD: 1.1, GBP: 0.83, JPY: 165, TRY: 440 } },
  ]
  using feed = startFeed(() => Response.json({ amount: 1, ...replies.shift() }))
  await using app = await createTestApp({
    RATES_PROVIDER: 'frankfurter',
    RATES_URL: feed.url,
    RATES_BASE: 'USD',
  })
  expect((await refresh(app)).outcome).toBe('stored')
  expect((await refresh(app)).outcome).toBe('stored')
  expect((await served(app)).rates).toMatchObject({ USD: 1, EUR: 0.9, JPY: 150, TRY: 40 })
  expect(await refresh(app)).toEqual({ outcome: 'stored', date: '2026-07-08', held: ['TRY'] })
  expect((await served(app)).rates['TRY']).toBeCloseTo(40.4)
})

test('drops codes that are not currencies', async () => {
  const odd = { ...seeded, XAU: 0.0003, BTC: 0.00001, ZZZ: 5 }
  using feed = startFeed(() => new Response(ecbXml(NEXT, odd)))
  await using app = await createTestApp({ ...ECB, RATES_URL: feed.url })
  expect((await refresh(app)).outcome).toBe('stored')
  const { rates } = await served(app)
  for (const code of ['XAU', 'BTC', 'ZZZ']) expect(rates).not.toHaveProperty(code)
})

test(`rates older than 4 days are stale but still served ${fault(140)}`, async () => {
  await using app = await createTestApp({ ...ECB, RATES_URL: 'http://127.0.0.1:1/' })
  app.clock.now = new Date('2026-07-10T13:59:00Z')
  expect((await app.ask('GET', '/ready')).json.rates).toBe('ok')
  app.clock.now = new Date('2026-07-10T14:01:00Z')
  expect((await app.ask('GET', '/ready')).json.rates).toBe('stale')
  expect((await app.ask('GET', '/ready')).status).toBe(200)
  expect((await app.ask('GET', '/api/user/currency_rates/v1')).status).toBe(200)
})

test('rates are not stale over Easter, when the provider publishes none', async () => {
  using feed = startFeed(() => new Response(ecbXml('2027-03-25', seeded)))
  await using app = await createTestApp({ ...ECB, RATES_URL: feed.url })
  app.clock.now = new Date('2027-03-25T15:30:00Z')
  expect((await refresh(app)).outcome).toBe('stored')
  app.clock.now = new Date('2027-03-30T14:45:00Z')
  expect((await app.ask('GET', '/ready')).json.rates).toBe('ok')
  expect(await app.services.rates.isDue()).toBe(false)
  app.clock.now = new Date('2027-03-31T15:01:00Z')
  expect((await app.ask('GET', '/ready')).json.rates).toBe('stale')
})

test('parses the JSON of other providers', () => {
  const frankfurter = createFeed('frankfurter', null, null)
  const set = { amount: 1, base: 'EUR', date: NEXT, rates: { USD: 1.1, GBP: 0.8 } }
  expect(frankfurter.parse(JSON.stringify(set))).toEqual({
    provider: 'frankfurter',
    baseCode: 'EUR',
    date: NEXT,
    publishedAt: new Date('2026-07-07T14:00:00Z'),
    rates: { USD: 1.1, GBP: 0.8 },
  })
  const open = createFeed('openexchangerates', null, 'the key')
  expect(open.url).toBe('https://openexchangerates.org/api/latest.json?app_id=the+key')
  const latest = { timestamp: 1_783_468_800, base: 'USD', rates: { EUR: 0.9 } }
  expect(open.parse(JSON.stringify(latest))).toMatchObject({ baseCode: 'USD', date: '2026-07-08' })
})

test.each([
  ['2026-01-15', '2026-01-15T15:00:00.000Z'],
  ['2026-07-06', '2026-07-06T14:00:00.000Z'],
  ['2026-03-29', '2026-03-29T14:00:00.000Z'],
  ['2026-10-25', '2026-10-25T15:00:00.000Z'],
])('16:00 in Berlin on %s is %s', (date, instant) => {
  expect(berlinTime(date, 16).toISOString()).toBe(instant)
})

function refresh(app: TestApp) {
  return app.services.rates.refresh(AbortSignal.timeout(5_000))
}

async function served(app: TestApp) {
  return (await app.ask('GET', '/api/user/currency_rates/v1')).json.response
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } })
}

function without(code: string): Record<string, number> {
  return Object.fromEntries(Object.entries(seeded).filter(([name]) => name !== code))
}

function mapRates(change: (rate: number) => number): Record<string, number> {
  return Object.fromEntries(Object.entries(seeded).map(([code, rate]) => [code, change(rate)]))
}
