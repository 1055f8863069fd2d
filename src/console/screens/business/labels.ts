import type { Figures } from '../../../features/billing/business/figures.ts'
import type { ReplyOf } from '../../api.ts'
import { LOCALE } from '../../format.ts'

export type Business = ReplyOf<Figures['read']>

const MONTH = new Intl.DateTimeFormat(LOCALE, {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})
const DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'long', timeZone: 'UTC' })

/** In thousandths of a currency. */
export type Money = { paid: number; refunded: number }

/** `October 2026`. */
export function monthName(month: string): string {
  return MONTH.format(new Date(`${month}-01T00:00:00Z`))
}

/** `31 October 2026`. */
export function dayName(day: string): string {
  return DAY.format(new Date(`${day}T00:00:00Z`))
}

/** Formats thousandths of a currency. */
export function createMoneyFormat(currency: string): (thousandths: number) => string {
  const format = new Intl.NumberFormat(LOCALE, { style: 'currency', currency })
  return (thousandths) => format.format(thousandths / 1000)
}
