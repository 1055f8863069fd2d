/** A rate that was tried, in requests a second, and whether it was sustained. */
export type Tried = { rate: number; isSustained: boolean }

type Next = { kind: 'try'; rate: number } | { kind: 'found'; rate: number | null }

const FIRST_RATE = 64
/** Below, a step has too few requests for a 99th percentile. */
const LOWEST_RATE = 32
const HIGHEST_RATE = 20_000
/** How near the found rate must be to one that is not sustained. */
const PRECISION = 1.1

/**
 * The next step of a search for the highest rate that is sustained: doubled or halved until there is a
 * rate that is and one that is not, and then between them. Without any that is sustained it finds null.
 */
export function nextRate(tried: readonly Tried[]): Next {
  const failing = Math.min(...tried.filter((one) => !one.isSustained).map(({ rate }) => rate))
  const sustained = Math.max(
    ...tried.filter((one) => one.isSustained && one.rate < failing).map(({ rate }) => rate),
  )
  if (tried.length === 0) return { kind: 'try', rate: FIRST_RATE }
  if (sustained === Number.NEGATIVE_INFINITY) {
    if (failing <= LOWEST_RATE) return { kind: 'found', rate: null }
    return { kind: 'try', rate: failing / 2 }
  }
  if (failing / sustained <= PRECISION || sustained >= HIGHEST_RATE) {
    return { kind: 'found', rate: sustained }
  }
  if (failing === Number.POSITIVE_INFINITY) return { kind: 'try', rate: sustained * 2 }
  return { kind: 'try', rate: Math.round(Math.sqrt(sustained * failing)) }
}
