import type { Money } from '../../../billing/inbox/event.ts'

/** Currencies whose amounts are whole units. Stripe writes ISK and UGX with two decimals. https://docs.stripe.com/currencies */
const WITHOUT_DECIMALS = new Set(
  'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '),
)
const WITH_THREE_DECIMALS = new Set('BHD JOD KWD OMR TND'.split(' '))

/** `amount`: in the smallest unit that Stripe uses for the currency. */
export function toMoney(currency: string, amount: number): Money | null {
  if (!/^[A-Z]{3}$/.test(currency) || !Number.isFinite(amount)) return null
  return { currency, amount: Math.round((amount * 1000) / countUnits(currency)) }
}

/** How many smallest units one unit of a currency has at Stripe. */
export function countUnits(currency: string): number {
  if (WITHOUT_DECIMALS.has(currency)) return 1
  return WITH_THREE_DECIMALS.has(currency) ? 1_000 : 100
}
