import Negotiator from 'negotiator'
import { PLATFORMS, type Platform } from '../../../lib/app-platforms.ts'
import { tryTo } from '../../../lib/errors.ts'
import { asLocale, asTimezone } from '../../../lib/text/locale.ts'
import { isSealed } from '../body/opened-request.ts'

const DEVICE_LIMIT = 200
const LANGUAGE_LIMIT = 1_000
/** The matcher caches its result for every tag and never evicts any. */
const MAX_MATCHED_TAGS = 2_000
const MAX_TAGS = 10

/** User-Agent patterns (RFC 9110 §10.1.5) and the names that users recognize. */
const AGENT_NAMES: [RegExp, string][] = [
  [/^curl\//, 'curl'],
  [/^Wget\//, 'Wget'],
  [/^HTTPie\//, 'HTTPie'],
  [/^PostmanRuntime\//, 'Postman'],
  [/^(insomnia|bruno-runtime)\//i, 'API client'],
  [/^(node|node-fetch|undici|axios\/)/, 'Node.js'],
  [/^Bun\//, 'Bun'],
  [/^Deno\//, 'Deno'],
  [/^(python|aiohttp|httpx)/i, 'Python'],
  [/^Go-http-client\//, 'Go'],
  [/^Mozilla\/.* Firefox\//, 'Firefox'],
  [/^Mozilla\/.* Edg\//, 'Edge'],
  [/^Mozilla\/(?!.*; wv\)).* (Headless)?Chrome\//, 'Chrome'],
  [/^Mozilla\/.* Version\/[\d.]+ (Mobile\/\w+ )?Safari\//, 'Safari'],
]

/** What the User-Agent of an app or a browser says about its platform. */
const AGENT_PLATFORMS: [RegExp, Platform][] = [
  [/\b(CFNetwork|iPhone|iPad)\b/, 'ios'],
  [/\b(okhttp|Dalvik|Android)\b/, 'android'],
  [/^Mozilla\//, 'web'],
]

/** What the `device` header says about it, such as `android`, `Android 14` or `iPhone15,2`. */
const DEVICE_PLATFORMS: [RegExp, Platform][] = [
  [/\b(ios|ipados|iphone|ipad|ipod)(?![a-z])/i, 'ios'],
  [/\bandroid(?![a-z])/i, 'android'],
  [/^web$/i, 'web'],
]

/** `name`: as its user recognizes it. `country` and `platform`: null if unknown. */
export type Device = {
  name: string
  sealed: boolean
  platform: Platform | null
  country: string | null
}

/** The value of a header; null if it is absent, or empty, `null` or `undefined`, which generated clients send. */
export function optionalHeader(headers: Headers, name: string): string | null {
  const value = headers.get(name)
  return value === null || /^(null|undefined)?$/.test(value) ? null : value
}

/** The device in the `device` header, percent-encoded or not, without control characters. */
export function readDevice(request: Request, country: string | null = null): Device {
  const header = decodedHeader(optionalHeader(request.headers, 'device')).toWellFormed()
  const characters = [...header.replace(/[\p{C}\u2028\u2029]/gu, '').trim()]
  const name = characters.slice(0, DEVICE_LIMIT).join('')
  return {
    name: name || findDeviceByAgent(request.headers),
    sealed: isSealed(request),
    platform: readPlatform(request.headers),
    // Proxies send XX for an unknown country, and T1 for Tor.
    country: country !== null && country !== 'XX' && /^[A-Z]{2}$/.test(country) ? country : null,
  }
}

/** The platform in the `app-platform` header, or else the one that the User-Agent or the `device` header suggests. */
function readPlatform(headers: Headers): Platform | null {
  const agent = headers.get('user-agent') ?? ''
  return (
    readAppPlatform(headers) ?? firstMatch(AGENT_PLATFORMS, agent) ?? readDevicePlatform(headers)
  )
}

export function readAppPlatform(headers: Headers): Platform | null {
  const stated = optionalHeader(headers, 'app-platform')?.toLowerCase()
  return PLATFORMS.find((platform) => platform === stated) ?? null
}

/** The platform that the `device` header names; null if it names none. */
export function readDevicePlatform(headers: Headers): Platform | null {
  return firstMatch(DEVICE_PLATFORMS, decodedHeader(optionalHeader(headers, 'device')).trim())
}

function firstMatch<T>(patterns: [RegExp, T][], text: string): T | null {
  return patterns.find(([pattern]) => pattern.test(text))?.[1] ?? null
}

/** Apps without a `device` header count as iOS; tools and browsers are recognized by their User-Agent. */
function findDeviceByAgent(headers: Headers): string {
  const agent = headers.get('user-agent') ?? ''
  return firstMatch(AGENT_NAMES, agent) ?? 'ios'
}

/** Decodes a header that may be percent-encoded or UTF-8, whose bytes arrive as Latin-1. */
export function decodedHeader(header: string | null): string {
  const text = decodeUtf8(header ?? '')
  return tryTo(() => decodeURIComponent(text)) ?? text
}

function decodeUtf8(text: string): string {
  if (!/[\x80-\xff]/.test(text) || /[^\0-\xff]/.test(text)) return text
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return tryTo(() => decoder.decode(Buffer.from(text, 'latin1'))) ?? text
}

/** The `timezone` header; `utc` when it is not a time zone. */
export function readTimezone(headers: Headers): string {
  return asTimezone(optionalHeader(headers, 'timezone') ?? 'UTC') ?? 'utc'
}

/** The languages of `Accept-Language`, best first. */
export function readLanguages(headers: Headers): string[] {
  const header = optionalHeader(headers, 'accept-language')?.slice(0, LANGUAGE_LIMIT)
  if (header === undefined) return []
  const tags = new Negotiator({ headers: { 'accept-language': header } }).languages()
  return tags.slice(0, MAX_TAGS).flatMap((tag) => (tag === '*' ? [] : (asLocale(tag) ?? [])))
}

export function readInitialLocale(headers: Headers): string {
  return readLanguages(headers)[0] ?? 'en'
}

/** The best match among `available` (never empty), even across regions: `pt-PT` matches `pt-BR`. */
export function matchLanguage(wanted: string[], available: string[], fallback: string): string {
  // The language tables are large, so they are loaded only when there is something to match.
  if (wanted.length === 0 || available.length === 1) return fallback
  const [best = ''] = wanted
  if (available.includes(best)) return best
  const { match } =
    require('@formatjs/intl-localematcher') as typeof import('@formatjs/intl-localematcher')
  return match(
    wanted.flatMap((tag) => toMatchable(tag, available)),
    available,
    fallback,
  )
}

const matched = new Set<string>()

/**
 * After too many different tags, drops the region if the rest is available, or else keeps only a two-letter language,
 * of which there are few.
 */
function toMatchable(tag: string, available: string[]): string[] {
  const locale = new Intl.Locale(tag)
  const short = [locale.language, locale.script, locale.region].filter(Boolean).join('-')
  if (matched.size < MAX_MATCHED_TAGS) matched.add(short)
  if (matched.has(short)) return [short]
  const wanted = toLanguageAndScript(tag)
  if (available.some((one) => toLanguageAndScript(one) === wanted)) return [wanted]
  return locale.language.length === 2 ? [locale.language] : []
}

/** Such as `zh-Hant` for `zh-TW`. */
function toLanguageAndScript(tag: string): string {
  const { language, script } = new Intl.Locale(tag).maximize()
  return `${language}-${script}`
}
