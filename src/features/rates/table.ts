import type { RateSet } from './model.ts'

/** A currency with a fixed rate: one `base` is `rate` units of `quote`. */
export type Peg = { quote: string; base: string; rate: number; authority: string }

const SIGNIFICANT_DIGITS = 12

/** The rates for one unit of `base`, including pegs, rounded to 12 digits; null if the set does not include it. */
export function ratesFor(base: string, set: RateSet, pegs: Peg[]): Record<string, number> | null {
  const published = addPegs(set, pegs)
  const unit = published[base]
  if (unit === undefined) return null
  const codes = Object.keys(published).toSorted()
  return Object.fromEntries(codes.map((code) => [code, roundRate((published[code] ?? 0) / unit)]))
}

/** All rates of a set: its base, the published rates, and the currencies pegged to them. */
export function addPegs(set: RateSet, pegs: Peg[]): Record<string, number> {
  const all: Record<string, number> = { [set.baseCode]: 1, ...set.rates }
  for (const { quote, base, rate } of pegs) {
    const anchor = all[base]
    if (anchor !== undefined) all[quote] ??= anchor * rate
  }
  return all
}

/** One set: the rates of the first, and of each other one what the sets before it lack. */
export function mergeSets<Set extends RateSet>([first, ...others]: [Set, ...RateSet[]]): Set {
  const all: Record<string, number> = { [first.baseCode]: 1, ...first.rates }
  for (const { baseCode, rates } of others) {
    const theirs: Record<string, number> = { [baseCode]: 1, ...rates }
    // A common currency: its base, which nearly every set has, or any other.
    const common = [baseCode, ...Object.keys(theirs)].find((code) => code in all)
    if (common === undefined) continue
    const unit = (all[common] ?? 0) / (theirs[common] ?? 1)
    for (const [code, rate] of Object.entries(theirs)) all[code] ??= rate * unit
  }
  return { ...first, rates: all }
}

function roundRate(rate: number): number {
  return Number(rate.toPrecision(SIGNIFICANT_DIGITS))
}
