/** Units of each currency per unit of a common base, on a day (`2026-10-31`). */
type DayRates = { date: string; rates: Record<string, number> }

/** Returns one entry per day, oldest first. */
export type ReadRates = (since: string, until: string) => Promise<DayRates[]>

export type Conversion = ReturnType<typeof createConversion>

/**
 * Uses the latest rates on or before each day, or the earliest if there are none. A currency missing from those rates
 * uses its earliest known rate.
 */
export function createConversion(days: DayRates[], target: string) {
  const ratesByDay = new Map<string, Record<string, number>>()
  const oldest = days[0]?.date ?? null
  const newest = days.at(-1)
  /** A cache key that changes with the stored rates. It contains the newest day's rates, because they can be replaced. */
  const version = `${target} ${days.length} ${oldest} ${JSON.stringify(newest)}`
  return { rateOn, oldest, version }

  /** Null if there is no rate. */
  function rateOn(currency: string, day: string): number | null {
    if (currency === target) return 1
    const has = (rates: Record<string, number>) => currency in rates && target in rates
    const onDay = ratesOn(day)
    const rates = has(onDay) ? onDay : days.find((each) => has(each.rates))?.rates
    const [from, to] = [rates?.[currency], rates?.[target]]
    return from === undefined || to === undefined ? null : to / from
  }

  function ratesOn(day: string): Record<string, number> {
    const known = ratesByDay.get(day)
    if (known) return known
    const { rates = {} } = days.findLast(({ date }) => date <= day) ?? days[0] ?? {}
    ratesByDay.set(day, rates)
    return rates
  }
}
