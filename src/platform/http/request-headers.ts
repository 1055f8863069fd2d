import Negotiator from 'negotiator'
import { asLocale, asTimezone } from '../../lib/locale.ts'
import { isSealed } from './opened-request.ts'

const DEVICE_LIMIT = 200
const LANGUAGE_LIMIT = 1_000
/** The matcher keeps what it has worked out for every tag, for as long as the process lives. */
const MAX_MATCHED_TAGS = 2_000
const MAX_TAGS = 10

/** What known programs call themselves (RFC 9110 §10.1.5), and what a person recognises them by. */
const TOOLS: [RegExp, string][] = [
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
  [/^Mozilla\/(?!.*; wv\)).* Chrome\//, 'Chrome'],
  [/^Mozilla\/.* Version\/[\d.]+ (Mobile\/\w+ )?Safari\//, 'Safari'],
]

/** A device: its name as a person may recognise it, and whether it seals what it sends. */
export type Device = { name: string; sealed: boolean }

/** A header; null also where a generated client sends nothing as empty, `null` or `undefined`. */
export function optionalHeader(headers: Headers, name: string): string | null {
  const value = headers.get(name)
  return value === null || /^(null|undefined)?$/.test(value) ? null : value
}

/** What the `device` header says, percent-encoded or not, without control characters. */
export function deviceOf(request: Request): Device {
  const header = decodedHeader(optionalHeader(request.headers, 'device')).toWellFormed()
  const characters = [...header.replace(/[\p{C}\u2028\u2029]/gu, '').trim()]
  const name = characters.slice(0, DEVICE_LIMIT).join('')
  return { name: name || deviceByAgent(request.headers), sealed: isSealed(request) }
}

/** Apps that do not say what they run on count as iOS; tools and browsers say who they are. */
function deviceByAgent(headers: Headers): string {
  const agent = headers.get('user-agent') ?? ''
  return TOOLS.find(([pattern]) => pattern.test(agent))?.[1] ?? 'ios'
}

/** A header that may be percent-encoded, as headers cannot hold every character. */
export function decodedHeader(header: string | null): string {
  try {
    return decodeURIComponent(header ?? '')
  } catch {
    return header ?? ''
  }
}

/** The `timezone` header in lower case, `utc` when it is no IANA name. */
export function timezoneOf(headers: Headers): string {
  return asTimezone(optionalHeader(headers, 'timezone') ?? 'UTC') ?? 'utc'
}

/** The tags of the Accept-Language header, best first; what is no language tag is skipped. */
export function languagesOf(headers: Headers): string[] {
  const header = optionalHeader(headers, 'accept-language')?.slice(0, LANGUAGE_LIMIT)
  if (header === undefined) return []
  const tags = new Negotiator({ headers: { 'accept-language': header } }).languages()
  return tags.slice(0, MAX_TAGS).flatMap((tag) => (tag === '*' ? [] : (asLocale(tag) ?? [])))
}

/** The language that a new account starts with. */
export function initialLocaleOf(headers: Headers): string {
  return languagesOf(headers)[0] ?? 'en'
}

/** The one of `available` (never empty) that suits best, also regionally: `pt-PT` gets `pt-BR`. */
export function matchLanguage(wanted: string[], available: string[], fallback: string): string {
  // Most ask for nothing, or there is nothing to choose: the tables of languages are loaded by the first who does.
  if (wanted.length === 0 || available.length === 1) return fallback
  const { match } =
    require('@formatjs/intl-localematcher') as typeof import('@formatjs/intl-localematcher')
  return match(wanted.flatMap(matchable), available, fallback)
}

const matched = new Set<string>()

/** The tag itself, or, once too many were matched, its language where that has two letters: there are only so many. */
function matchable(tag: string): string[] {
  const [language = ''] = tag.split('-')
  if (matched.size < MAX_MATCHED_TAGS) matched.add(tag)
  if (matched.has(tag)) return [tag]
  return language.length === 2 ? [language] : []
}
