import { type RatesProvider, rateSources } from '../../config/subjects/rates.ts'
import { parseJson } from '../../lib/text/json.ts'
import { HOUR_MS } from '../../lib/time/durations.ts'
import { type Feed, FeedError } from './feed.ts'
import type { RateSet } from './model.ts'

type Config = { ratesProvider: string; ratesUrl: string | null; ratesApiKey: string | null }

/** The hour, in Europe/Berlin, at which the ECB publishes. */
const ECB_HOUR = 16

const DEFAULT_URL: Record<RatesProvider, string> = {
  ecb: 'https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml',
  frankfurter: 'https://api.frankfurter.dev/v1/latest?base=EUR',
  openexchangerates: 'https://openexchangerates.org/api/latest.json',
  'open-er-api': 'https://open.er-api.com/v6/latest/USD',
}

/** In the order of the configuration. */
export function createFeeds(config: Config): Feed[] {
  return rateSources(config).map(({ provider, url }) =>
    createFeed(provider, url, config.ratesApiKey),
  )
}

/** The feed of a provider, at its default URL unless `url` is given. */
export function createFeed(
  provider: RatesProvider,
  url: string | null,
  apiKey: string | null,
): Feed {
  const address = new URL(url ?? DEFAULT_URL[provider])
  if (provider === 'openexchangerates' && apiKey) address.searchParams.set('app_id', apiKey)
  const accept = provider === 'ecb' ? 'application/xml, text/xml' : 'application/json'
  return { provider, url: address.href, accept, parse: PARSERS[provider] }
}

const PARSERS: Record<RatesProvider, (body: string) => RateSet> = {
  ecb: parseEcb,
  frankfurter: parseFrankfurter,
  openexchangerates: parseOpenExchangeRates,
  'open-er-api': parseOpenErApi,
}

/** https://www.ecb.europa.eu/stats/eurofxref: Envelope › Cube › Cube[time] › Cube[currency, rate]. */
function parseEcb(body: string): RateSet {
  const days = elements(parseXml(body), 'gesmes:Envelope', 'Cube', 'Cube')
  const [day] = days.toSorted((a, b) => attribute(b, 'time').localeCompare(attribute(a, 'time')))
  const date = parseDate(attribute(day, 'time'))
  const rates = elements(day, 'Cube').map((cube): [string, number] => [
    attribute(cube, 'currency'),
    Number(cube['@rate']),
  ])
  return {
    provider: 'ecb',
    baseCode: 'EUR',
    date,
    publishedAt: berlinTime(date, ECB_HOUR),
    rates: Object.fromEntries(rates),
  }
}

/** https://frankfurter.dev: `{ amount, base, date, rates }`, the ECB's rates as JSON. */
function parseFrankfurter(body: string): RateSet {
  const { base, date, rates } = parseObject(body)
  const day = parseDate(date)
  return {
    provider: 'frankfurter',
    baseCode: parseCode(base),
    date: day,
    publishedAt: berlinTime(day, ECB_HOUR),
    rates: parseRates(rates),
  }
}

/** https://docs.openexchangerates.org: `{ timestamp, base, rates }`, seconds since 1970. */
function parseOpenExchangeRates(body: string): RateSet {
  return timedSet('openexchangerates', parseObject(body))
}

/** https://www.exchangerate-api.com/docs/free: `{ result, base_code, time_last_update_unix, rates }`. */
function parseOpenErApi(body: string): RateSet {
  const { result, time_last_update_unix: timestamp, base_code: base, rates } = parseObject(body)
  if (result !== 'success') throw new FeedError('the provider reports an error')
  return timedSet('open-er-api', { timestamp, base, rates })
}

function timedSet(provider: RatesProvider, reply: Record<string, unknown>): RateSet {
  const { timestamp, base, rates } = reply
  if (typeof timestamp !== 'number') throw new FeedError('the date is missing')
  const publishedAt = new Date(timestamp * 1000)
  if (Number.isNaN(publishedAt.getTime())) throw new FeedError('the date is invalid')
  return {
    provider,
    baseCode: parseCode(base),
    date: publishedAt.toISOString().slice(0, 10),
    publishedAt,
    rates: parseRates(rates),
  }
}

/** The instant at which a clock in Europe/Berlin shows `hour` on `date`: UTC+1, or UTC+2 in summer. */
export function berlinTime(date: string, hour: number): Date {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/Berlin',
    hour: '2-digit',
    hourCycle: 'h23',
  })
  const asUtc = new Date(`${date}T${String(hour).padStart(2, '0')}:00:00.000Z`)
  const offset = Number(clock.format(asUtc)) - hour
  return new Date(asUtc.getTime() - offset * HOUR_MS)
}

type Xml = Record<string, unknown>

function parseXml(body: string): Xml {
  try {
    return Bun.XML.parse(body) as Xml
  } catch {
    throw new FeedError('the response is not XML')
  }
}

function parseObject(body: string): Record<string, unknown> {
  const value = parseJson(body)
  if (value === undefined) throw new FeedError('the response is not JSON')
  if (value === null || typeof value !== 'object') throw new FeedError('the response has no object')
  return value as Record<string, unknown>
}

/** The elements at a path of element names. The parser returns a lone element without an array. */
function elements(from: unknown, ...path: string[]): Xml[] {
  return path.reduce<unknown[]>(
    (level, name) => level.flatMap((element) => (element as Xml | undefined)?.[name] ?? []),
    [from],
  ) as Xml[]
}

function attribute(element: Xml | undefined, name: string): string {
  const value = element?.[`@${name}`]
  if (typeof value !== 'string') throw new FeedError(`the response has no attribute "${name}"`)
  return value
}

function parseDate(value: unknown): string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) {
    throw new FeedError('the date is missing')
  }
  if (Number.isNaN(Date.parse(value))) throw new FeedError('the date is invalid')
  return value
}

function parseCode(value: unknown): string {
  if (typeof value !== 'string') throw new FeedError('the base is missing')
  return value
}

/** Non-numeric values become NaN, so that the currency keeps its last rate. */
function parseRates(value: unknown): Record<string, number> {
  if (value === null || typeof value !== 'object') throw new FeedError('the rates are missing')
  const entries = Object.entries(value).map(([code, rate]): [string, number] => [
    code,
    typeof rate === 'number' ? rate : Number.NaN,
  ])
  return Object.fromEntries(entries)
}
