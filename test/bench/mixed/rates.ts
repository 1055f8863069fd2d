/** A rate in requests per second, and whether it was sustained. */
export type RateResult = { rate: number; isSustained: boolean }

const MAX_RATE = 16_384
/** How close the result must be to a higher rate that is not sustained. */
const PRECISION = 1.1

/** The first rates to try, from the `lowest` up: the rate doubles with every second step. */
export function initialRates(lowest: number): number[] {
  const rates: number[] = []
  for (let rate = lowest; rate <= MAX_RATE; rate *= Math.SQRT2) rates.push(Math.round(rate))
  return rates
}

/** The highest sustained rate, or null. A lower rate that failed by chance is ignored. */
export function highestSustained(tried: readonly RateResult[]): number | null {
  const rates = tried.filter(({ isSustained }) => isSustained).map(({ rate }) => rate)
  return rates.length === 0 ? null : Math.max(...rates)
}

/** The next rate to try, between the highest sustained one and the next; null once they are close. */
export function nextRate(tried: readonly RateResult[]): number | null {
  const sustained = highestSustained(tried)
  if (sustained === null) return null
  const failing = Math.min(...tried.map(({ rate }) => rate).filter((rate) => rate > sustained))
  if (failing === Number.POSITIVE_INFINITY || failing / sustained <= PRECISION) return null
  return Math.round(Math.sqrt(sustained * failing))
}
