import type { Figures } from '../../../features/billing/business/figures.ts'
import type { ReplyOf } from '../../api.ts'
import { LOCALE } from '../../format.ts'

export type Business = ReplyOf<Figures['read']>

const MONTHS = {
  long: new Intl.DateTimeFormat(LOCALE, { month: 'long', year: 'numeric', timeZone: 'UTC' }),
  short: new Intl.DateTimeFormat(LOCALE, { month: 'short', year: '2-digit', timeZone: 'UTC' }),
}
const DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'long', timeZone: 'UTC' })

/** `October 2026`, or `Oct 26`. */
export function monthName(month: string, length: keyof typeof MONTHS = 'long'): string {
  return MONTHS[length].format(new Date(`${month}-01T00:00:00Z`))
}

/** `31 October 2026`. */
export function dayName(day: string): string {
  return DAY.format(new Date(`${day}T00:00:00Z`))
}

/** `12.5%`. */
export function percent(share: number): string {
  return share.toLocaleString(LOCALE, { style: 'percent', maximumFractionDigits: 1 })
}

/** Formats thousandths of a currency, such as `€1,204.50` or the compact `€1.2K`. */
export function createMoneyFormat(
  currency: string,
  notation: 'standard' | 'compact' = 'standard',
): (thousandths: number) => string {
  const format = new Intl.NumberFormat(LOCALE, { style: 'currency', currency, notation })
  return (thousandths) => format.format(thousandths / 1000)
}
