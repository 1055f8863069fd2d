import { Elysia } from 'elysia'
import type { ConsoleContext } from '../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import type { Rates } from './service.ts'

type RatesAdminDeps = { rates: Rates } & Pick<ConsoleContext, 'exportCsv'>

/** Shows the currency rates. */
export function ratesAdmin({ rates, exportCsv }: RatesAdminDeps) {
  return new Elysia({ name: 'rates-admin', prefix: `${CONSOLE_API}/rates` })
    .get('', async () => data(await describeRates(rates)), allow('reader'))
    .get(
      '/export.csv',
      (context) => {
        const read = async () => {
          const { baseCode, updatedAt, rates: all } = await rates.read()
          return Object.entries(all).map((rate) => ({ rate, baseCode, updatedAt }))
        }
        return exportCsv(context, { name: 'rates', columns: RATE_COLUMNS, read })
      },
      allow('reader'),
    )
}

/** The served rates and their source. Without rates for the base currency, `last` says why. */
export async function describeRates(rates: Rates) {
  const none = { baseCode: rates.baseCode, updatedAt: null, rates: {} }
  return { ...((await rates.readIfServed()) ?? none), ...(await rates.describeFeed()) }
}

type ExportedRate = Pick<Awaited<ReturnType<Rates['read']>>, 'baseCode' | 'updatedAt'> & {
  rate: [code: string, rate: number]
}

/** The columns of an exported list. */
const RATE_COLUMNS: Record<string, (rate: ExportedRate) => unknown> = {
  currency: ({ rate: [code] }) => code,
  rate: ({ rate: [, rate] }) => rate,
  base: ({ baseCode }) => baseCode,
  published: ({ updatedAt }) => updatedAt,
}
