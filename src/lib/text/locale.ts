import { tryTo } from '../errors.ts'
import { createLruMap } from '../lru-map.ts'

/** The currencies of ISO 4217 in use in 2026; `Intl` would include withdrawn ones. */
const CURRENCIES = new Set(
  `
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD
    CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS
    GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW
    KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR
    MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR
    SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX
    USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
  `
    .trim()
    .split(/\s+/),
)

/** The time zones that `Intl` has accepted, by name or offset in lower case: a check takes up to 100 µs. */
const knownTimezones = new Map<string, string>()
/** No further from UTC than Java allows. */
const OFFSET = /^(?:utc|gmt)?([+\u2212-])(0?\d|1[0-8])(?::?([0-5]\d))?$/

/** IANA's spelling of a time zone (except for `utc`), or null. A fixed offset such as `GMT+5:30` becomes `+05:30`. */
export function asTimezone(name: string): string | null {
  if (name.length > 64) return null
  const lower = name.toLowerCase()
  const [, sign, hours = '', minutes = '00'] = OFFSET.exec(lower) ?? []
  const timeZone = sign ? `${sign === '+' ? '+' : '-'}${hours.padStart(2, '0')}:${minutes}` : lower
  const known = knownTimezones.get(timeZone)
  if (known !== undefined) return known
  const format = tryTo(() => new Intl.DateTimeFormat('en', { timeZone }))
  if (format === undefined) return null
  const spelled = format.resolvedOptions().timeZone
  const timezone = spelled === 'UTC' || spelled === '+00:00' ? 'utc' : spelled
  knownTimezones.set(timeZone, timezone)
  return timezone
}

/** A BCP 47 tag in its canonical form, or null. Also reads tags as systems write them: `de_DE.UTF-8`, `zh_CN_#Hans`. */
export function asLocale(text: string): string | null {
  const tag = text
    .replace(/(\.[\w-]+)?(@[\w=;-]+)?$/, '')
    .replace(/^([a-z]+)(_[a-z\d]+)?_+#([a-z]{4})$/i, '$1_$3$2')
    .replaceAll('_', '-')
  if (tag.length > 35) return null
  return tryTo(() => Intl.getCanonicalLocales(tag)[0]) ?? null
}

/** Cached because long lists are compared often; limited because clients choose the tags. */
const MAX_KNOWN_FORMS = 2_000
const knownForms = createLruMap<string, string[]>(MAX_KNOWN_FORMS)

/** A tag's forms, itself first: `zh-TW`, `zh`, `zh-Hant`, `zh-Hant-TW` for `zh-tw`. An invalid tag is its only form. */
function findForms(tag: string): string[] {
  const known = knownForms.get(tag)
  if (known) return known
  const forms = listForms(tag)
  knownForms.set(tag, forms)
  return forms
}

function listForms(tag: string): string[] {
  const canonical = asLocale(tag)
  if (canonical === null) return [tag]
  const locale = new Intl.Locale(canonical)
  const { script } = locale.maximize()
  const endings = [script, locale.region, script && locale.region && `${script}-${locale.region}`]
  const variants = endings.flatMap((ending) => (ending ? `${locale.language}-${ending}` : []))
  return [canonical, locale.language, ...variants]
}

/** Returns a function that checks whether a tag is a variant of one of the languages: `iw-IL` is a variant of `he`. */
export function isVariantOfAny(languages: string[]): (tag: string) => boolean {
  const known = new Set(languages.map((language) => findForms(language)[0]))
  return (tag) => findForms(tag).some((form) => known.has(form))
}

/** An ISO 4217 code in lower case, or null. */
export function asCurrency(code: string): string | null {
  const upper = code.toUpperCase()
  return CURRENCIES.has(upper) ? upper.toLowerCase() : null
}

/** True for a current ISO 4217 code in upper case. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code)
}
