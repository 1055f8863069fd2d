import type { StoredEnvironment } from '../environment.ts'
import type { BillingDb } from '../schema.ts'
import type { Conversion } from './conversion.ts'
import { createSumRows, type SumRows } from './sum-rows.ts'

/** `from` is before the conversion, `to` after it. */
type Amount = { name: 'paid' | 'refunded'; currency: string; from: number; to: number | null }

export type MonthPayments = { amounts: Amount[]; firstDay: string | null }

/** Results are cached, because a month rarely changes and its payments are converted day by day. */
const MAX_CACHED = 1_000
const DAY_SERIES = ['paid.day', 'refunded.day']
const MONTH_SERIES = ['paid.month', 'refunded.month']

export function createPayments(db: BillingDb) {
  const cache = new Map<string, MonthPayments>()
  return { readMonths }

  /** `parts`: months, each up to a day. */
  async function readMonths(
    environment: StoredEnvironment,
    parts: [month: string, until: string][],
    conversion: Conversion,
  ) {
    const months = parts.map(([month]) => month).toSorted()
    const sums = createSumRows(db, environment)
    const rows = await sums.rows(MONTH_SERIES, months[0] ?? '', months.at(-1) ?? '')
    const found: MonthPayments[] = []
    for (const [month, until] of parts) {
      const own = rows.filter((row) => row.period === month)
      const state = own.map((row) => [row.series, row.item, row.sum].join(' ')).join()
      const key = [environment, month, until, conversion.version, state].join(' ')
      const known = cache.get(key) ?? (await convertDays(sums, month, until, conversion))
      cache.delete(key)
      cache.set(key, known)
      found.push(known)
    }
    for (const key of cache.keys()) if (cache.size > MAX_CACHED) cache.delete(key)
    return found
  }

  async function convertDays(sums: SumRows, month: string, until: string, conversion: Conversion) {
    const amounts = new Map<string, Amount>()
    const rows = await sums.rows(DAY_SERIES, `${month}-01`, until)
    for (const { series, period, item: currency, sum } of rows) {
      const name = series === 'paid.day' ? 'paid' : 'refunded'
      const key = `${name} ${currency}`
      const { from, to } = amounts.get(key) ?? { from: 0, to: 0 }
      const rate = conversion.rateOn(currency, period)
      amounts.set(key, {
        name,
        currency,
        from: from + sum,
        to: rate === null || to === null ? null : to + sum * rate,
      })
    }
    const firstDay = rows.map((row) => row.period).toSorted()[0] ?? null
    return { amounts: [...amounts.values()], firstDay }
  }
}

/** The converted totals; an amount without a rate counts as 0. */
export function listAmounts({ amounts }: MonthPayments = { amounts: [], firstDay: null }) {
  const findTotal = (name: string) =>
    Math.round(
      amounts
        .filter((amount) => amount.name === name)
        .reduce((total, { to }) => total + (to ?? 0), 0),
    )
  return { paid: findTotal('paid'), refunded: findTotal('refunded') }
}

/** In the currencies paid, without conversion. */
export function paymentsByCurrency({ amounts }: MonthPayments) {
  const found = new Map<string, { currency: string; paid: number; refunded: number }>()
  for (const { name, currency, from } of amounts) {
    const entry = found.get(currency) ?? { currency, paid: 0, refunded: 0 }
    found.set(currency, { ...entry, [name]: from })
  }
  return [...found.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1))
}

/** Converts a share of a month's payments at their average rate, so that the shares add up to the whole. */
export function convertShare(
  { amounts }: MonthPayments,
  name: string,
  currency: string,
  share: number,
) {
  const whole = amounts.find((amount) => amount.name === name && amount.currency === currency)
  return whole?.to == null || whole.from === 0 ? 0 : (share * whole.to) / whole.from
}
