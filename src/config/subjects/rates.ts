import { isCurrency } from '../../lib/text/locale.ts'
import { setting, text, value } from '../setting.ts'
import { externalUrl, list } from '../values.ts'

const PROVIDERS = ['ecb', 'frankfurter', 'openexchangerates', 'open-er-api'] as const
export type RatesProvider = (typeof PROVIDERS)[number]

/** Separates URLs, which may contain commas themselves. */
const URL_SEPARATOR = /\s*,\s*(?=https?:)/

export const ratesSettings = {
  ratesProvider: setting(
    'RATES_PROVIDER',
    value(
      `off, or one or more of ${PROVIDERS.join(', ')}, separated by commas`,
      (given) => {
        const names: readonly string[] = PROVIDERS
        if (given === 'off') return given
        const found = list(given, (name) => names.includes(name))
        return found && new Set(found).size === found.length ? found.join(',') : undefined
      },
      'ecb',
    ),
    '`off`, or one or more of `ecb`, `frankfurter`, `openexchangerates`, `open-er-api`: with `ecb,open-er-api`, the second provides the currencies that the first lacks, and replaces the first when it is out of date. Apps that show rates of `open-er-api` must credit [Rates By Exchange Rate API](https://www.exchangerate-api.com)',
  ),
  ratesUrl: setting(
    'RATES_URL',
    value('an https URL (http on loopback)', (given) => {
      const urls = given.split(URL_SEPARATOR).map(externalUrl)
      return urls.includes(undefined) ? undefined : urls.join(',')
    }),
    'another URL, or one for each provider, separated by commas',
    { shown: 'the provider’s' },
  ),
  ratesApiKey: setting('RATES_API_KEY', text('a key'), 'the key for Open Exchange Rates'),
  ratesBase: setting(
    'RATES_BASE',
    value(
      'an ISO 4217 code such as USD',
      (given) => (isCurrency(given.toUpperCase()) ? given.toUpperCase() : undefined),
      'USD',
    ),
    'the base currency of the rates',
  ),
}

/** The providers in order, each with its configured URL, if there is one; none when refreshing is off. */
export function rateSources(config: { ratesProvider: string; ratesUrl: string | null }) {
  const { ratesProvider, ratesUrl } = config
  const names = ratesProvider === 'off' ? [] : (ratesProvider.split(',') as RatesProvider[])
  const urls = ratesUrl?.split(URL_SEPARATOR) ?? []
  return names.map((provider, at) => ({ provider, url: urls[at] ?? null }))
}
