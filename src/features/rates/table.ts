import { DAY_MS } from '../../lib/time/durations.ts'
import { areRatesOld, isPublicationDay } from '../../lib/time/ecb-days.ts'
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

function roundRate(rate: number): number {
  return Number(rate.toPrecision(SIGNIFICANT_DIGITS))
}

export type RefreshOutcome =
  | { outcome: 'stored'; date: string; held: string[]; kept?: Record<string, string> }
  | { outcome: 'unchanged' }
  | { outcome: 'refused' | 'failed'; reason: string }

/** Units of each currency for one unit of the same base, on a day (`2026-10-31`). */
export type DayRates = { date: string; rates: Record<string, number> }

/** A set that is this much older than the preferred one does not fill its gaps. */
const MAX_FILLER_AGE_MS = 7 * DAY_MS
/** The hour (UTC) by which a working day's rates are published. */
const PUBLISHED_BY_UTC_HOUR = 15

/** Merges sets into one: each adds the rates that the sets before it lack. */
export function mergeSets<Set extends RateSet>([first, ...others]: [Set, ...RateSet[]]): Set {
  const all: Record<string, number> = { [first.baseCode]: 1, ...first.rates }
  for (const { baseCode, rates } of others) {
    const theirs: Record<string, number> = { [baseCode]: 1, ...rates }
    // A common currency: the other set's base, which nearly every set has, or any other.
    const common = [baseCode, ...Object.keys(theirs)].find((code) => code in all)
    if (common === undefined) continue
    const unit = (all[common] ?? 0) / (theirs[common] ?? 1)
    for (const [code, rate] of Object.entries(theirs)) all[code] ??= rate * unit
  }
  return { ...first, rates: all }
}

/** For each day, merges every provider's newest set up to that day, in the order of the providers. */
export function mergeDays(providers: string[], pegs: Peg[], sets: RateSet[]): DayRates[] {
  const newest = new Map<string, RateSet>()
  return sets.map((set) => {
    newest.set(set.provider, set)
    const merged = mergeSets(
      orderSets(providers, [...newest.values()], Date.parse(set.date)) as [RateSet],
    )
    return { date: set.date, rates: addPegs(merged, pegs) }
  })
}

/** Up-to-date sets first, in the order of the providers; leaves out sets too old to fill gaps. */
export function orderSets<Set extends RateSet>(
  providers: string[],
  sets: Set[],
  at: number,
): Set[] {
  const rank = ({ provider, publishedAt }: RateSet) => {
    const position = providers.indexOf(provider)
    const old = areRatesOld(publishedAt.getTime(), at) ? providers.length + 1 : 0
    return old + (position < 0 ? providers.length : position)
  }
  const ordered = sets.toSorted((a, b) => rank(a) - rank(b))
  const since = (ordered[0]?.publishedAt.getTime() ?? 0) - MAX_FILLER_AGE_MS
  return ordered.filter(({ publishedAt }) => publishedAt.getTime() > since)
}

/** The first failure if there was one, or else the stored outcome. */
export function summarize(providers: string[], outcomes: RefreshOutcome[]): RefreshOutcome {
  const at = outcomes.findIndex((one) => 'reason' in one)
  const failure = outcomes[at]
  if (failure === undefined || !('reason' in failure))
    return outcomes.find(({ outcome }) => outcome === 'stored') ?? { outcome: 'unchanged' }
  const reason = providers.length > 1 ? `${providers[at]}: ${failure.reason}` : failure.reason
  return { ...failure, reason }
}

/** When rates were last due before `at`: at 15:00 UTC on a publication day. */
export function lastPublication(at: Date): Date {
  const day = new Date(at)
  day.setUTCHours(PUBLISHED_BY_UTC_HOUR, 0, 0, 0)
  while (day > at || !isPublicationDay(day)) day.setUTCDate(day.getUTCDate() - 1)
  return day
}

/** Changes when the set is stored again. */
export function toTableVersion({ id, storedAt }: { id: string; storedAt: Date }): string {
  return `${id} ${storedAt.getTime()}`
}
