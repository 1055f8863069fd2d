import { expect, test } from 'bun:test'
import firstRates from '../../../data/seed/rates.json' with { type: 'json' }
import { createTestApp, type TestApp } from '../../support/app.ts'
import { ecbXml, startFeed } from '../../support/feed.ts'

const NEXT = '2026-07-07'
const { rates: seeded } = firstRates
const ECB = { RATES_PROVIDER: 'ecb' }

test.each([-1, 0, 'N/A', '', '1e400'])(
  'keeps the last rate of a currency whose rate is %j',
  async (rate) => {
    const raised = Object.fromEntries(
      Object.entries(seeded).map(([code, one]) => [code, one * 1.01]),
    )
    using feed = startFeed(() => new Response(ecbXml(NEXT, { ...raised, JPY: rate })))
    await using app = await createTestApp({ ...ECB, RATES_BASE: 'EUR', RATES_URL: feed.url })
    const kept = { JPY: '2026-07-06' }
    expect(await refresh(app)).toEqual({ outcome: 'stored', date: NEXT, held: [], kept })
    const { rates } = await served(app)
    expect([rates['JPY'], rates['GBP']]).toEqual([
      seeded.JPY,
      Number((seeded.GBP * 1.01).toPrecision(12)),
    ])
    expect((await app.services.rates.describeFeed()).held?.kept).toEqual(kept)
  },
)

test('keeps the last rate of a missing currency for seven days', async () => {
  const { JPY: _yen, ...others } = seeded
  const days = ['2026-07-07', '2026-07-13', '2026-07-14']
  using feed = startFeed(() => new Response(ecbXml(days.shift() ?? '', others)))
  await using app = await createTestApp({ ...ECB, RATES_BASE: 'EUR', RATES_URL: feed.url })
  app.clock.advance(10 * 24 * 60 * 60 * 1000)
  for (const date of ['2026-07-07', '2026-07-13']) {
    expect(await refresh(app)).toEqual({
      outcome: 'stored',
      date,
      held: [],
      kept: { JPY: '2026-07-06' },
    })
    expect((await served(app)).rates['JPY']).toBe(seeded.JPY)
  }
  expect(await refresh(app)).toEqual({ outcome: 'stored', date: '2026-07-14', held: [] })
  expect((await served(app)).rates).not.toHaveProperty('JPY')
})

function refresh(app: TestApp) {
  return app.services.rates.refresh(new AbortController().signal)
}

async function served(app: TestApp) {
  return (await app.ask('GET', '/api/user/currency_rates/v1')).json.response
}
