import type Stripe from 'stripe'

export const HOUR = 3600
export const DAY = 24 * HOUR

/** The end of the period that contains `time`, for a price whose billing cycle is anchored at `anchor`; in seconds. */
export function endOfPeriod(price: Stripe.Price, anchor: number, time: number): number {
  const { interval = 'month', interval_count = 1 } = price.recurring ?? {}
  const length = { day: 1, week: 7, month: 28, year: 365 }[interval as 'day'] * DAY * interval_count
  for (let count = Math.max(0, Math.floor((time - anchor) / (length * 1.2))); ; count++) {
    const end = addIntervals(anchor, interval, interval_count * count)
    if (end > time) return end
  }
}

/** A month after January 31 is the last day of February, and two months after it March 31. */
function addIntervals(anchor: number, interval: string, count: number): number {
  if (interval === 'day') return anchor + count * DAY
  if (interval === 'week') return anchor + count * 7 * DAY
  const date = new Date(anchor * 1000)
  const month = date.getUTCMonth() + count * (interval === 'year' ? 12 : 1)
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate()
  const time = (anchor * 1000) % (DAY * 1000)
  const day = Math.min(date.getUTCDate(), lastDay)
  return (Date.UTC(date.getUTCFullYear(), month, day) + time) / 1000
}

/** Whether two prices have the same billing interval. */
export function hasSameInterval(a: Stripe.Price, b: Stripe.Price): boolean {
  const isSameInterval = a.recurring?.interval === b.recurring?.interval
  return isSameInterval && a.recurring?.interval_count === b.recurring?.interval_count
}
