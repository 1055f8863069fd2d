import { addMonths, DAY_MS } from './durations.ts'

/** The length of a billing period. */
type PlanDuration = { months: number; days: number }

export const DURATION_RULE = 'must be such as month, 3 months, year, P1Y, P30D or lifetime'

const WORDS = /^(\d{1,3})?\s*(day|week|month|quarter|year)(?:s|ly)?$/
/** ISO 8601, as stores write it. */
const ISO =
  /^p(?=.)(?:(\d{1,3})y)?(?:(\d{1,4})m)?(?:(\d{1,4})w)?(?:(\d{1,4})d)?(?:t(?=.)(?:(\d{1,4})h)?(?:(\d{1,4})m)?)?$/

const UNITS: Record<string, PlanDuration> = {
  day: { months: 0, days: 1 },
  week: { months: 0, days: 7 },
  month: { months: 1, days: 0 },
  quarter: { months: 3, days: 0 },
  year: { months: 12, days: 0 },
}

/** Reads the duration of a plan, such as `month`, `3 months` or `P1Y`; null if it cannot be read. */
export function readDuration(text: string): PlanDuration | 'lifetime' | null {
  const duration = text.trim().toLowerCase()
  if (duration === 'lifetime') return duration
  const [, count = '1', name = ''] = WORDS.exec(duration) ?? []
  const unit = UNITS[name]
  const { months, days } =
    unit === undefined
      ? readIso(duration)
      : { months: unit.months * Number(count), days: unit.days * Number(count) }
  return months + days > 0 ? { months, days } : null
}

function readIso(duration: string): PlanDuration {
  const [, ...parts] = ISO.exec(duration) ?? []
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0] = parts.map((part) =>
    Number(part ?? 0),
  )
  return { months: years * 12 + months, days: weeks * 7 + days + hours / 24 + minutes / 1440 }
}

/** The end of a period that began at `start` (ms), null for `lifetime`. A period that cannot be read ends at once. */
export function endOfPeriod(start: number, text: string): number | null {
  const duration = readDuration(text)
  if (duration === 'lifetime') return null
  const { months, days } = duration ?? { months: 0, days: 0 }
  return addMonths(start, months) + Math.round(days * DAY_MS)
}
