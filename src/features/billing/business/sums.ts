import { addMonths, DAY_MS, HOUR_MS } from '../../../lib/time/durations.ts'
import type { Period } from './periods.ts'

/** By `series`, `period` and `item`. */
export type Sums = Map<string, number>

/** Balances are numbers at a point in time; flows count what happens in a period. */
export const BALANCES = ['active', 'trials'] as const
export const FLOWS = [
  'new',
  'churned',
  'recovered',
  'saved',
  'trialStarts',
  'converted',
  'unpriced',
] as const
/** Figures whose items are currencies. */
const AMOUNTS = ['paid', 'refunded', 'recurring'] as const
export const BREAKDOWNS = ['plan', 'store', 'country'] as const

type Name = (typeof BALANCES)[number] | (typeof FLOWS)[number] | (typeof AMOUNTS)[number]

/** A renewal that starts this soon after the end of the last period continues it. */
const MAX_GAP_MS = HOUR_MS
/** Retention is counted for this many months after the first payment. */
const COHORT_MONTHS = 36
/** A customer is retained only if the payment covers more than a day of the month: time zones differ by about a day. */
const MIN_RETAINED_MS = DAY_MS
const DAYS_PER_MONTH = 365.25 / 12
const SEPARATOR = '\t'

/** Adds what a purchase's periods contribute; a `sign` of -1 subtracts it. */
export function addSums(sums: Sums, periods: Period[], sign: 1 | -1) {
  const subscribed = withoutGaps(periods.filter(({ kind }) => kind !== 'once'))
  for (const period of subscribed) addBalances(period)
  addMovements(subscribed)
  addCohort(subscribed.filter(({ kind }) => kind === 'paid'))
  for (const period of periods) addPayment(period)

  function addBalances(period: Period) {
    const { kind, startsAt, endsAt } = period
    for (const [time, by] of [
      [startsAt, 1],
      [endsAt, -1],
    ] as const) {
      if (kind === 'trial') addCount('trials', time, by, period)
      else {
        addCount('active', time, by, period)
        const amount = toMonthlyAmount(period)
        if (amount !== 0) addCount('recurring', time, by * amount, undefined, period.currency)
      }
    }
    if (kind === 'trial') addCount('trialStarts', startsAt, 1)
  }

  /** Invariant: active at the end = active at the start + new + recovered - churned. */
  function addMovements(subscribed: Period[]) {
    let last: Period | null = null
    let hasTrial = false
    for (const period of subscribed) {
      if (period.kind === 'trial') hasTrial = true
      else {
        if (last === null) {
          addCount('new', period.startsAt, 1, period)
          if (hasTrial) addCount('converted', period.startsAt, 1)
        } else if (period.startsAt > last.endsAt) {
          addCount('churned', last.endsAt, 1, last)
          addCount('recovered', period.startsAt, 1)
        } else if (last.hasFailedPayment) addCount('saved', period.startsAt, 1)
        last = period
      }
    }
    if (last !== null) addCount('churned', last.endsAt, 1, last)
  }

  function addPayment(period: Period) {
    const { kind, startsAt, amount, refundedAt, refund } = period
    if (kind === 'trial') return
    if (amount === null) addCount('unpriced', startsAt, 1)
    else if (amount !== 0) {
      addAmount('paid', startsAt, amount, period)
      if (refundedAt !== null) addAmount('refunded', refundedAt, refund, period)
    }
  }

  function addCohort(paid: Period[]) {
    const [first] = paid
    if (first === undefined) return
    const end = Math.max(...paid.map(({ paidUntil }) => paidUntil))
    const cohort = toMonth(first.startsAt)
    add('cohort', cohort, '00', 1)
    for (let month = 1; month < COHORT_MONTHS; month++) {
      const from = addMonths(first.startsAt, month) + MIN_RETAINED_MS
      if (from >= end) break
      const until = addMonths(first.startsAt, month + 1)
      const isRetained = paid.some(
        ({ startsAt, paidUntil }) => startsAt < until && paidUntil > from,
      )
      if (isRetained) add('cohort', cohort, String(month).padStart(2, '0'), 1)
    }
  }

  /** Adds to the day and the month, and to their breakdowns if a period is given. */
  function addCount(name: Name, time: number, by: number, period?: Period, item = '') {
    const day = toDay(time)
    const month = day.slice(0, 7)
    add(`${name}.day`, day, item, by)
    add(`${name}.month`, month, item, by)
    if (period === undefined) return
    for (const [breakdown, value] of listBreakdowns(period)) {
      add(`${name}.${breakdown}.day`, day, value, by)
      add(`${name}.${breakdown}.month`, month, value, by)
    }
  }

  /** Unlike the ends of periods, payments are rarely in the future, so monthly totals are enough for the breakdown. */
  function addAmount(name: Name, time: number, amount: number, period: Period) {
    const { currency } = period
    addCount(name, time, amount, undefined, currency)
    for (const [breakdown, value] of listBreakdowns(period))
      add(`${name}.${breakdown}.month`, toMonth(time), `${currency} ${value}`, amount)
  }

  function add(series: string, period: string, item: string, by: number) {
    const key = [series, period, item].join(SEPARATOR)
    sums.set(key, (sums.get(key) ?? 0) + sign * by)
  }
}

function listBreakdowns({ offer, store, country }: Period) {
  return [
    ['plan', offer],
    ['store', store],
    ['country', country],
  ] as const
}

export function parseParts(key: string) {
  const [series = '', period = '', ...item] = key.split(SEPARATOR)
  return { series, period, item: item.join(SEPARATOR) }
}

/** Ends each period when the next one starts, if that is earlier or only a short gap later. */
function withoutGaps(periods: Period[]): Period[] {
  return periods.map((period, at) => {
    const next = periods[at + 1]
    if (next === undefined || next.startsAt > period.endsAt + MAX_GAP_MS) return period
    return { ...period, endsAt: next.startsAt }
  })
}

function toMonthlyAmount({ billedMs, amount }: Period): number {
  const months = billedMs / DAY_MS / DAYS_PER_MONTH
  if (amount === null || months <= 0) return 0
  return Math.round(amount / (months < 0.9 ? months : Math.round(months)))
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function toMonth(ms: number): string {
  return toDay(ms).slice(0, 7)
}
