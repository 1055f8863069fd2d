import { isCurrency } from '../../lib/text/locale.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { RateSet } from './model.ts'
import { ratesFor } from './table.ts'

/** Rates that jumped on `date` and await confirmation. `kept`: the date of each missing or invalid currency's last rate. */
export type HeldRates = {
  date: string
  rates: Record<string, number>
  kept?: Record<string, string>
}

type Verdict =
  | { kind: 'accepted'; rates: Record<string, number>; held: HeldRates | null }
  | { kind: 'refused'; reason: string }

/** The minimum number of currencies in a new set, as a share of the number in the previous set. */
const MIN_CODES_SHARE = 0.8
/** The whole set is refused if a larger share of its rates is held or kept. */
const MAX_HELD_SHARE = 0.3
/** How far a rate may move: 15% × √days, at most 60% (observed daily: p99 1.41%, max 4.15%). */
const MAX_MOVE_PER_DAY = 0.15
const MAX_MOVE = 0.6
const MAX_DAYS_AHEAD = 2
/** How long a missing currency keeps its last rate. */
const MAX_KEPT_DAYS = 7

/**
 * Drops non-ISO currencies. A rate that jumps keeps its last good value until a second publication confirms it; an
 * invalid or missing one keeps it too. The base may change.
 */
export function checkRateSet(
  set: RateSet,
  stored: RateSet | null,
  heldBefore: HeldRates | null,
  canServe: (set: RateSet) => boolean,
  now: Date,
): Verdict {
  const rates: Record<string, number> = {}
  const invalid: string[] = []
  for (const [code, rate] of Object.entries(set.rates)) {
    if (!isCurrency(code) || code === set.baseCode) continue
    if (Number.isFinite(rate) && rate > 0) rates[code] = rate
    else invalid.push(code)
  }
  const count = Object.keys(rates).length + invalid.length
  if (!isCurrency(set.baseCode)) return refused('the base is not a currency')
  if (count === 0) return refused('there are no rates')
  if (Date.parse(set.date) > now.getTime() + MAX_DAYS_AHEAD * DAY_MS)
    return refused('the date is in the future')
  // All served rates are derived from the base currency.
  if (!canServe({ ...set, rates })) return refused('the served base currency is missing')
  if (invalid.length > MAX_HELD_SHARE * count) return refused('too many rates are invalid')
  if (stored === null) return { kind: 'accepted', rates, held: null }

  const isSameBase = set.baseCode === stored.baseCode
  if (!isSameBase && !(set.baseCode in stored.rates))
    return refused(`the previous rates do not include its base ${set.baseCode}`)
  const last = isSameBase ? stored : rebase(stored, set.baseCode)
  const held = isSameBase ? heldBefore : null
  if (set.date < last.date) return refused('it is older than the current rates')
  if (count < MIN_CODES_SHARE * Object.keys(last.rates).length) return refused('too few currencies')

  const findDate = (code: string) => heldBefore?.kept?.[code] ?? last.date
  const jumps = Object.entries(rates).filter(([code, rate]) => {
    const before = last.rates[code]
    if (before === undefined || !hasJumped(before, rate, daysBetween(findDate(code), set.date)))
      return false
    return !isConfirmed(code, rate, set.date, held)
  })
  const isKept = (code: string) =>
    invalid.includes(code) || daysBetween(findDate(code), set.date) <= MAX_KEPT_DAYS
  const absent = Object.keys(last.rates).filter((code) => !(code in rates) && code !== set.baseCode)
  const kept = absent.filter(isKept)
  if (jumps.length + kept.length > MAX_HELD_SHARE * count) return refused('too many rates changed')
  for (const code of [...jumps.map(([one]) => one), ...kept])
    rates[code] = last.rates[code] as number
  const keptDates = Object.fromEntries(kept.map((code) => [code, findDate(code)]))
  const isAnyHeld = jumps.length + kept.length > 0
  return {
    kind: 'accepted',
    rates,
    held: isAnyHeld ? { date: set.date, rates: Object.fromEntries(jumps), kept: keptDates } : null,
  }
}

function rebase(set: RateSet, baseCode: string): RateSet {
  const { [baseCode]: _one, ...rates } = ratesFor(baseCode, set, []) ?? {}
  return { ...set, baseCode, rates }
}

function isConfirmed(code: string, rate: number, date: string, held: HeldRates | null): boolean {
  const before = held?.rates[code]
  if (!held || before === undefined || held.date === date) return false
  return !hasJumped(before, rate, daysBetween(held.date, date))
}

function hasJumped(before: number, rate: number, days: number): boolean {
  const limit = Math.min(MAX_MOVE, MAX_MOVE_PER_DAY * Math.sqrt(days))
  return Math.abs(rate / before - 1) > limit
}

function daysBetween(from: string, to: string): number {
  return Math.max(1, Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS))
}

function refused(reason: string): Verdict {
  return { kind: 'refused', reason }
}
