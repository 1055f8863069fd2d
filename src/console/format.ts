import { tryTo } from '../lib/errors.ts'
import { describeConditions, isRule, languageName } from '../lib/text/rule-labels.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/time/durations.ts'

/** The browser's locale, or English if it is written from right to left: its formats contain control characters. */
export const LOCALE = /^(ar|arc|ckb|dv|fa|he|iw|ku|ps|sd|ug|ur|yi)\b/.test(
  new Intl.DateTimeFormat().resolvedOptions().locale,
)
  ? 'en-GB'
  : undefined

/** The operator's choices on this device; an empty string is the system's default. */
export function readPreferences() {
  const [zone, theme] = ['zone', 'theme'].map(readStored) as [string, string]
  return { theme, zone: zone === '' || isZone(zone) ? zone : '' }
}

/** Also empty where the browser blocks the page's storage. */
function readStored(name: string): string {
  return tryTo(() => globalThis.localStorage?.getItem(`homeport-${name}`)) ?? ''
}

function isZone(timeZone: string): boolean {
  return tryTo(() => new Intl.DateTimeFormat('en', { timeZone })) !== undefined
}

/** Undefined for the browser's time zone. */
export const timeZone = readPreferences().zone || undefined

const TIME = new Intl.DateTimeFormat(LOCALE, {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone,
})
const DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone })
const CLOCK = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'short', timeZone })
/** `2026-11-05 14:32:00`. */
const SORTABLE = new Intl.DateTimeFormat('sv', {
  dateStyle: 'short',
  timeStyle: 'medium',
  timeZone,
})
const UTC = new Intl.DateTimeFormat(LOCALE, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  timeZone: 'UTC',
})
const NUMBER = new Intl.NumberFormat(LOCALE)
const COUNTRIES = new Intl.DisplayNames(LOCALE, { type: 'region' })
const CURRENCIES = new Intl.DisplayNames(LOCALE, { type: 'currency' })
// Not `yesterday`: 35 hours ago may be the day before.
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'always' })
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
  ['second', 1000],
]

/** A time in the operator's time zone. */
export function time(iso: string): string {
  return TIME.format(new Date(iso))
}

/** The day of a time in the operator's time zone. */
export function day(iso: string): string {
  return DAY.format(new Date(iso))
}

/** `14:32` for a time today; includes the date for any other day. */
export function clock(iso: string): string {
  const at = new Date(iso)
  return DAY.format(at) === DAY.format(new Date()) ? CLOCK.format(at) : TIME.format(at)
}

/** The start of a day such as `2026-11-05`, in ms; NaN for an invalid day. */
export function startOfDay(day: string): number {
  const start = Date.parse(`${day}T00:00Z`)
  // The offset may change between midnight in UTC and midnight here.
  const first = start - offsetAt(start)
  const second = start - offsetAt(first)
  // A change of clocks may skip midnight: the day then starts later.
  return second + offsetAt(second) === start ? second : Math.max(first, second)
}

/** How far the operator's time zone is ahead of UTC, in ms; NaN before the year 1000, which `sv` writes with fewer digits. */
function offsetAt(ms: number): number {
  if (Number.isNaN(ms)) return ms
  return Date.parse(`${SORTABLE.format(ms).replace(' ', 'T')}Z`) - ms
}

/** The same time in UTC, for tooltips. */
export function utc(iso: string): string {
  return `${UTC.format(new Date(iso))} UTC`
}

/** Such as `20 days`, in the largest unit that fits. */
export function durationName(ms: number): string {
  const [unit, length] = UNITS.find(([, one]) => ms >= one) ?? ['second', 1000]
  return plural(Math.round(ms / length), unit)
}

/** `3 minutes ago`. */
export function ago(iso: string): string {
  const ms = Date.parse(iso) - Date.now()
  const unit = UNITS.find(([, length]) => Math.abs(ms) >= length)
  return unit ? RELATIVE.format(Math.round(ms / unit[1]), unit[0]) : 'now'
}

export function number(value: number): string {
  return NUMBER.format(value)
}

/** An exchange rate, to seven digits. */
export function rate(value: number): string {
  return value.toLocaleString(LOCALE, { maximumSignificantDigits: 7 })
}

/** The server stops counting at 1,000. */
export function upTo1000(count: number): string {
  return count >= 1000 ? '1,000+' : String(count)
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let at = 0
  let size = value
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000
    at++
  }
  return `${at === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[at]}`
}

/** An amount as it was paid, such as `€4.99`. */
export function money({ amount, currency }: { amount: number; currency: string }): string {
  return new Intl.NumberFormat(LOCALE, { style: 'currency', currency }).format(amount)
}

/** `12 events`, or `1,000+ events` for a count that stopped at 1,001. */
export function formatCount(count: number, noun: string): string {
  return count > 1000 ? `1,000+ ${pluralize(noun)}` : plural(count, noun)
}

/** `Brazil` for `BR`, in the browser's language. */
export function countryName(code: string): string {
  return code === '' ? 'Unknown country' : nameIn(COUNTRIES, code)
}

/** `Brazilian Real` for `BRL`, in the browser's language. */
export function currencyName(code: string): string {
  return nameIn(CURRENCIES, code)
}

/** The code itself if it is unknown or invalid, such as `T1`, Cloudflare's code for Tor. */
function nameIn(names: Intl.DisplayNames, code: string): string {
  return tryTo(() => names.of(code)) ?? code
}

/** Names a user without a name and an address by the end of the id, because ids of the same day begin alike. */
export function unnamedUser(id: string): string {
  return `User …${id.slice(-4)}`
}

/** `1 file`, `2 files`, `3 deliveries`. */
export function plural(count: number, noun: string): string {
  return `${number(count)} ${count === 1 ? noun : pluralize(noun)}`
}

function pluralize(noun: string): string {
  return `${noun}s`.replace(/([^ae])ys$/, '$1ies')
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** Whether a value is a time, such as `2026-07-06T14:00:00.000Z`. */
export function isIsoTime(input: unknown): input is string {
  return typeof input === 'string' && ISO_TIME.test(input)
}

/** Formats a value of a setting or a change on one line. */
export function value(input: unknown): string {
  if (input === null || input === undefined) return '–'
  if (typeof input === 'string') return input || '(empty)'
  if (typeof input === 'boolean') return input ? 'yes' : 'no'
  if (isRule(input)) return `${value(input.value)} ${describeConditions(input)}`
  if (Array.isArray(input)) return input.map(value).join(', ') || '–'
  if (isFeature(input)) return feature(input)
  if (typeof input !== 'object') return String(input)
  const names = Object.keys(input)
  const isByLanguage = names.every((name) => /^[a-z]{2}(-|$)/.test(name))
  const parts = Object.entries(input).map(
    ([name, one]) => `${isByLanguage ? languageName(name) : name}: ${value(one)}`,
  )
  return parts.join('; ') || '–'
}

type Feature = { value: unknown; rules: unknown[] }

function isFeature(input: unknown): input is Feature {
  return typeof input === 'object' && input !== null && 'value' in input && 'rules' in input
}

/** `no by default; yes on iOS from 2.0.0 for 20% of users`; without rules only `no`. */
function feature({ value: fallback, rules }: Feature): string {
  if (rules.length === 0) return value(fallback)
  return [`${value(fallback)} by default`, ...rules.map(value)].join('; ')
}

/** Words with a fixed capitalization. */
const SPECIAL_CASE: Record<string, string> = {
  ios: 'iOS',
  android: 'Android',
  url: 'URL',
  api: 'API',
  ai: 'AI',
  email: 'e-mail',
  faqs: 'FAQs',
}

const STORE_NAMES: Record<string, string> = { 'app store': 'App Store', 'play store': 'Play Store' }

/** `latestBuildNumber` as `Latest build number`. */
export function words(name: string): string {
  const [first = '', ...rest] = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[ _.-]/)
    .map((word) => SPECIAL_CASE[word.toLowerCase()] ?? word.toLowerCase())
  const isProper = /[A-Z]/.test(first)
  return [isProper ? first : first.charAt(0).toUpperCase() + first.slice(1), ...rest]
    .join(' ')
    .replace(/\b(app|play) store\b/i, (store) => STORE_NAMES[store.toLowerCase()] ?? store)
}

/** The English translation of a text, else the first. */
export function inEnglish(text: unknown): string {
  if (typeof text === 'string') return text
  const texts = (text ?? {}) as Record<string, string>
  return texts['en'] ?? Object.values(texts)[0] ?? ''
}
