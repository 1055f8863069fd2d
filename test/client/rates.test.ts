import { expect, test } from 'bun:test'
import { createClient, findRate } from '../../src/client/client.ts'
import { createFakeServer } from '../../src/client/testing/testing.ts'

test.each([
  ['usd', 1],
  ['EUR', 0.86],
  ['eur', 0.86],
  ['xxx', null],
  ['constructor', null],
  ['', null],
])('the rate of %s is %p', async (currency, rate) => {
  const { url: baseUrl, fetch, now } = createFakeServer({ rates: { rates: { USD: 1, EUR: 0.86 } } })
  expect(findRate(await createClient({ baseUrl, fetch, now }).readCurrencyRates(), currency)).toBe(
    rate,
  )
})
