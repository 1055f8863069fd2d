/** A rate in requests a second, and whether it was sustained. */
export type Tried = { rate: number; isSustained: boolean }

const HIGHEST = 16_384
/** How near the found rate must be to a higher one that is not sustained. */
const PRECISION = 1.1

/** The rates that are tried first, from the `lowest` on: every second one is the double of the one before it. */
export function ladder(lowest: number): number[] {
  const rates: number[] = []
  for (let rate = lowest; rate <= HIGHEST; rate *= Math.SQRT2) rates.push(Math.round(rate))
  return rates
}

/** The highest rate that was sustained; null where none was. What is too slow by chance at a lower one does not count. */
export function highestSustained(tried: readonly Tried[]): number | null {
  const rates = tried.filter(({ isSustained }) => isSustained).map(({ rate }) => rate)
  return rates.length === 0 ? null : Math.max(...rates)
}

/** The rate to try next, between the highest one that is sustained and the next one; null once they are near. */
export function rateBetween(tried: readonly Tried[]): number | null {
  const sustained = highestSustained(tried)
  if (sustained === null) return null
  const failing = Math.min(...tried.map(({ rate }) => rate).filter((rate) => rate > sustained))
  if (failing === Number.POSITIVE_INFINITY || failing / sustained <= PRECISION) return null
  return Math.round(Math.sqrt(sustained * failing))
}
