import { describe, expect, test } from 'bun:test'
import firstRates from '../../../data/seed/rates.json' with { type: 'json' }
import { createTestApp, type TestApp } from '../../support/app.ts'
import { ecbXml, startFeed } from '../../support/feed.ts'

const NEXT = '2026-07-07'
const { rates: seeded } = firstRates

describe('several providers', () => {
  const erApi = (changes: object = {}) => ({
    result: 'success',
    base_code: 'USD',
    time_last_update_unix: Date.parse(`${NEXT}T00:00:01Z`) / 1000,
    rates: { USD: 1, EUR: 0.9, TWD: 32, NGN: 1500, KZT: 500, JPY: 1 },
    ...changes,
  })
  const start = async (ecb: () => Response, other: () => Response, settings = {}) => {
    const [first, second] = [startFeed(ecb), startFeed(other)]
    const app = await createTestApp({
      RATES_PROVIDER: 'ecb,open-er-api',
      RATES_URL: `${first.url},${second.url}`,
      ...settings,
    })
    const stop = async () => {
      await app[Symbol.asyncDispose]()
      for (const feed of [first, second]) feed[Symbol.dispose]()
    }
    return { app, stop }
  }
  const ecb = () => new Response(ecbXml(NEXT, { ...seeded, USD: 1.2 }))

  test('uses the first provider that has a currency, and fills gaps from the next', async () => {
    const { app, stop } = await start(ecb, () => Response.json(erApi()))
    expect(await refresh(app)).toMatchObject({ outcome: 'stored', date: NEXT })
    const { rates, updatedAt } = await served(app)
    expect(updatedAt).toBe(`${NEXT}T14:00:00.000Z`)
    expect([rates['TWD'], rates['NGN'], rates['KZT']]).toEqual([32, 1500, 500])
    expect(rates['JPY']).toBeCloseTo(seeded.JPY / 1.2, 6)
    const [oldest] = await app.services.rates.readDays(NEXT, NEXT)
    const days = await app.services.rates.readDays(NEXT, NEXT)
    expect(days.at(-1)?.rates['TWD']).toBeCloseTo(32 * 1.2, 6)
    expect(oldest?.rates['JPY']).toBe(seeded.JPY)
    await stop()
  })

  test('the rates of past days begin with those of every provider', async () => {
    const { app, stop } = await start(ecb, () => Response.json(erApi()))
    await refresh(app)
    const days = await app.services.rates.readDays('2026-07-09', '2026-07-10')
    expect(days.map(({ date }) => date)).toEqual([NEXT, NEXT])
    const { rates } = days.at(-1) ?? {}
    expect([rates?.['TWD'], rates?.['JPY']]).toEqual([expect.closeTo(32 * 1.2, 6), seeded.JPY])
    await stop()
  })

  test('the base may be a currency that only the second provider has', async () => {
    const { app, stop } = await start(ecb, () => Response.json(erApi()), { RATES_BASE: 'TWD' })
    await refresh(app)
    const { rates } = await served(app)
    expect([rates['TWD'], rates['USD'], rates['NGN']]).toEqual([1, 1 / 32, 1500 / 32])
    await stop()
  })

  test('uses the second provider while the rates of the first are old', async () => {
    const later = { time_last_update_unix: Date.parse('2026-07-20T00:00:01Z') / 1000 }
    const down = () => new Response(null, { status: 500 })
    const { app, stop } = await start(down, () => Response.json(erApi(later)))
    app.clock.now = new Date('2026-07-20T12:00:00Z')
    expect(await refresh(app)).toEqual({
      outcome: 'failed',
      reason: 'ecb: the provider responded with 500',
    })
    const { rates, updatedAt } = await served(app)
    expect([updatedAt, rates['JPY'], rates['TWD']]).toEqual(['2026-07-20T00:00:01.000Z', 1, 32])
    expect((await app.ask('GET', '/ready')).json.rates).toBe('ok')
    await stop()
  })

  for (const [what, reply] of [
    ['an error', erApi({ result: 'error', 'error-type': 'quota-reached' })],
    ['no date', erApi({ time_last_update_unix: undefined })],
    ['no rates', erApi({ rates: undefined })],
  ] as const) {
    test(`a response from open-er-api with ${what} changes nothing`, async () => {
      const { app, stop } = await start(ecb, () => Response.json(reply))
      expect(await refresh(app)).toMatchObject({
        reason: expect.stringMatching(/^open-er-api: /),
      })
      expect((await served(app)).rates['TWD']).toBeUndefined()
      await stop()
    })
  }
})

function refresh(app: TestApp) {
  return app.services.rates.refresh(AbortSignal.timeout(5_000))
}

async function served(app: TestApp) {
  return (await app.ask('GET', '/api/user/currency_rates/v1')).json.response
}
