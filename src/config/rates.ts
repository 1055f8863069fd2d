import { isCurrency } from '../lib/text/locale.ts'
import type { SettingsReader } from './define-setting.ts'
import { externalUrl, list, nonEmpty } from './values.ts'

const PROVIDERS = ['ecb', 'frankfurter', 'openexchangerates', 'open-er-api'] as const
export type RatesProvider = (typeof PROVIDERS)[number]

/** Separates URLs, which may contain commas themselves. */
const URL_SEPARATOR = /\s*,\s*(?=https?:)/

export function readRates({ read, optional }: SettingsReader) {
  return {
    /** In order: the first provider that has a currency counts. */
    ratesProvider: read(
      'RATES_PROVIDER',
      'ecb',
      `off, or of ${PROVIDERS.join(', ')} one or more, separated by commas`,
      (text) => {
        const names: readonly string[] = PROVIDERS
        if (text === 'off') return text
        const found = list(text, (name) => names.includes(name))
        return found && new Set(found).size === found.length ? found.join(',') : undefined
      },
    ),
    /** Other addresses of the first providers, in their order. */
    ratesUrl: optional('RATES_URL', 'an https URL (http on loopback)', (text) => {
      const urls = text.split(URL_SEPARATOR).map(externalUrl)
      return urls.includes(undefined) ? undefined : urls.join(',')
    }),
    ratesApiKey: optional('RATES_API_KEY', 'a key', nonEmpty),
    ratesBase: read('RATES_BASE', 'USD', 'an ISO 4217 code such as USD', (text) =>
      isCurrency(text.toUpperCase()) ? text.toUpperCase() : undefined,
    ),
  }
}

/** The providers in their order, each with its other address, if it has one; none when refreshing is off. */
export function rateSources(config: { ratesProvider: string; ratesUrl: string | null }) {
  const { ratesProvider, ratesUrl } = config
  const names = ratesProvider === 'off' ? [] : (ratesProvider.split(',') as RatesProvider[])
  const urls = ratesUrl?.split(URL_SEPARATOR) ?? []
  return names.map((provider, at) => ({ provider, url: urls[at] ?? null }))
}
