/** Units of each currency for one unit of the same base, on a day (`2026-10-31`). */
type DayRates = { date: string; rates: Record<string, number> }

/** In order. */
export type ReadRates = (since: string, until: string) => Promise<DayRates[]>

export type Conversion = ReturnType<typeof createConversion>

/** Uses the newest rates up to each day, else the oldest. A currency without a rate that day has its oldest one. */
export function createConversion(days: DayRates[], target: string) {
  const findDailyRate = new Map<string, Record<string, number>>()
  const oldest = days[0]?.date ?? null
  const newest = days.at(-1)
  /** Changes when other rates are stored: those of the newest day may be replaced. */
  const version = `${target} ${days.length} ${oldest} ${JSON.stringify(newest)}`
  return { rateOn, oldest, version }

  /** Null without a rate. */
  function rateOn(currency: string, day: string): number | null {
    if (currency === target) return 1
    const has = (rates: Record<string, number>) => currency in rates && target in rates
    const onDay = ratesOn(day)
    const rates = has(onDay) ? onDay : days.find((each) => has(each.rates))?.rates
    const [from, to] = [rates?.[currency], rates?.[target]]
    return from === undefined || to === undefined ? null : to / from
  }

  function ratesOn(day: string): Record<string, number> {
    const known = findDailyRate.get(day)
    if (known) return known
    const { rates = {} } = days.findLast(({ date }) => date <= day) ?? days[0] ?? {}
    findDailyRate.set(day, rates)
    return rates
  }
}
