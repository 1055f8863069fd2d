import { DAY_MS } from './durations.ts'

const RATES_ARE_OLD_AFTER_MS = 4 * DAY_MS
/** As month and day. */
const FIXED_HOLIDAYS = ['01-01', '05-01', '12-25', '12-26']

/** Whether the European Central Bank publishes rates on the day (UTC) of `time`: not on weekends and TARGET holidays. */
export function isPublicationDay(time: Date): boolean {
  return !isWeekend(time) && !isHoliday(time)
}

/** Whether rates are older than four days. Holidays during the week do not count. */
export function areRatesOld(publishedAt: number, now: number): boolean {
  let limit = publishedAt + RATES_ARE_OLD_AFTER_MS
  for (let day = publishedAt + DAY_MS; day <= limit && limit < now; day += DAY_MS) {
    if (!isWeekend(new Date(day)) && isHoliday(new Date(day))) limit += DAY_MS
  }
  return now > limit
}

function isWeekend(time: Date): boolean {
  return time.getUTCDay() % 6 === 0
}

function isHoliday(time: Date): boolean {
  const day = time.toISOString().slice(5, 10)
  const midnight = Math.floor(time.getTime() / DAY_MS) * DAY_MS
  const daysAfterEaster = (midnight - computeEaster(time.getUTCFullYear())) / DAY_MS
  return FIXED_HOLIDAYS.includes(day) || daysAfterEaster === -2 || daysAfterEaster === 1
}

/** Easter Sunday by Gauss's algorithm, from 1900 to 2099. */
function computeEaster(year: number): number {
  const d = (19 * (year % 19) + 24) % 30
  const e = (2 * (year % 4) + 4 * (year % 7) + 6 * d + 5) % 7
  const isEarlier = e === 6 && (d === 29 || (d === 28 && year % 19 > 10))
  return Date.UTC(year, 2, 22 + d + e - (isEarlier ? 7 : 0))
}
