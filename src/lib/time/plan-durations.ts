import { addMonths, DAY_MS } from './durations.ts'

export const DURATION_RULE = 'must be a duration such as month, 3 months, P1Y, P30D or lifetime'

const WORDS = /^(\d{1,3})?\s*(day|week|month|quarter|year)(?:s|ly)?$/
/** ISO 8601, as stores write it. */
const ISO = /^p(?=.)(?:(\d{1,3})y)?(?:(\d{1,4})m)?(?:(\d{1,4})w)?(?:(\d{1,4})d)?$/
const DAYS: Record<string, number> = { day: 1, week: 7 }
const MONTHS: Record<string, number> = { month: 1, quarter: 3, year: 12 }

/** Reads the duration of a plan, such as `month`, `3 months` or `P1Y`; null if it is invalid. */
export function readDuration(text: string): { months: number; days: number } | 'lifetime' | null {
  const duration = text.trim().toLowerCase()
  if (duration === 'lifetime') return duration
  const [, count = '1', unit = ''] = WORDS.exec(duration) ?? []
  const [, ...parts] = ISO.exec(duration) ?? []
  const [years = 0, isoMonths = 0, weeks = 0, isoDays = 0] = parts.map((part) => Number(part ?? 0))
  const months = years * 12 + isoMonths + Number(count) * (MONTHS[unit] ?? 0)
  const days = weeks * 7 + isoDays + Number(count) * (DAYS[unit] ?? 0)
  return months + days > 0 ? { months, days } : null
}

/** The end of a period from `start` (ms), null for `lifetime`. A period with an invalid duration ends immediately. */
export function computePeriodEnd(start: number, text: string): number | null {
  const duration = readDuration(text)
  if (duration === 'lifetime') return null
  return duration ? addMonths(start, duration.months) + duration.days * DAY_MS : start
}
