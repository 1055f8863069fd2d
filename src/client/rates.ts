import type { CurrencyRates } from './models.ts'

/** The units of a currency, in upper or lower case, for one unit of the base; null without a rate. */
export function findRate({ rates }: CurrencyRates, currency: string): number | null {
  return rates[currency.toUpperCase()] ?? null
}
