import { closedObject } from '../../platform/http/replies/envelope.ts'
import { defineList } from '../../platform/lists/list.ts'
import type { Rates } from './service.ts'

const rates = defineList({
  name: 'rates',
  summary: 'List the currency rates',
  console: 'rates',
  query: closedObject({}),
  // A file without rates would look complete.
  read: async ({ rates }: { rates: Rates }, _query, { reader }) =>
    reader === 'file' ? rates.read() : describeRates(rates),
  rows: ({ rates, ...set }) =>
    Object.entries(rates).map(([code, rate]) => ({ code, rate, ...set })),
  columns: {
    currency: ({ code }) => code,
    rate: ({ rate }) => rate,
    base: ({ baseCode }) => baseCode,
    published: ({ updatedAt }) => updatedAt,
  },
  command: null,
})

/** The served rates and their source. Without rates for the base currency, `last` says why. */
export async function describeRates(rates: Rates) {
  const none = { baseCode: rates.baseCode, updatedAt: null, rates: {} }
  return { ...((await rates.readIfServed()) ?? none), ...(await rates.describeFeed()) }
}

export const rateLists = [rates]
