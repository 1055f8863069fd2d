import type { RateSet } from './model.ts'

/** A currency whose rate is fixed by law: one `base` is `rate` units of `quote`. */
export type Peg = { quote: string; base: string; rate: number; authority: string }

const DIGITS = 12

/** The rates for one unit of `base`: as published, completed by the pegs, rounded to 12 digits. */
export function ratesFor(base: string, set: RateSet, pegs: Peg[]): Record<string, number> {
  const published: Record<string, number> = { [set.baseCode]: 1, ...set.rates }
  for (const { quote, base: anchor, rate } of pegs) {
    const anchorRate = set.rates[anchor] ?? (anchor === set.baseCode ? 1 : undefined)
    if (anchorRate !== undefined) published[quote] ??= anchorRate * rate
  }
  const unit = published[base]
  if (unit === undefined) throw new Error(`the set of ${set.date} has no ${base}`)
  const codes = Object.keys(published).toSorted()
  return Object.fromEntries(codes.map((code) => [code, rounded((published[code] ?? 0) / unit)]))
}

function rounded(rate: number): number {
  return Number(rate.toPrecision(DIGITS))
}
