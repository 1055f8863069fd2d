import { PLATFORM_NAMES } from '../app-platforms.ts'
import { tryTo } from '../errors.ts'

type RuleLike = { when: Record<string, unknown>; value: unknown }

/** Created when first needed: they would take a millisecond of each start. */
const names: { region?: Intl.DisplayNames; language?: Intl.DisplayNames } = {}
const MAX_NAMES = 5

export function isRule(input: unknown): input is RuleLike {
  return typeof input === 'object' && input !== null && 'when' in input && 'value' in input
}

/** Such as `on iOS from 2.0.0 in Germany for 20% of users`. */
export function describeConditions({ when }: RuleLike): string {
  const { platform, minVersion, belowVersion, maxVersion, languages, countries } = when
  const { plans, percent } = when
  const parts = [
    platform && `on ${PLATFORM_NAMES[String(platform)] ?? platform}`,
    minVersion && `from ${minVersion}`,
    belowVersion && `below ${belowVersion}`,
    maxVersion && `up to ${maxVersion}`,
    languages && `in ${formatNames(languages, languageName)}`,
    countries && `in ${formatNames(countries, countryName)}`,
    plans && `on the plan ${formatNames(plans, String)}`,
    percent !== undefined && `for ${percent}% of users`,
  ].filter(Boolean)
  return parts.length > 0 ? parts.join(' ') : 'for all users'
}

/** Numbers rules: `ios.supportedVersion, rule 1`. */
export function describePath(path: string): string {
  const [, fixed, custom, at] = /^(?:rules\.(.+)|(features\.\w+)\.rules)\.(\d+)$/.exec(path) ?? []
  return at === undefined ? path : `${fixed ?? custom}, rule ${Number(at) + 1}`
}

/** `Germany` for `DE`; the code itself if it is unknown. */
export function countryName(code: string): string {
  return findName('region', code)
}

/** `Brazilian Portuguese` for `pt-BR`; the tag itself if it is unknown. */
export function languageName(tag: string): string {
  return findName('language', tag)
}

function findName(type: 'region' | 'language', code: string): string {
  names[type] ??= new Intl.DisplayNames('en', { type })
  return tryTo(() => names[type]?.of(code)) ?? code
}

function formatNames(codes: unknown, formatName: (code: string) => string): string {
  const names = (Array.isArray(codes) ? codes : [codes]).map((code) => formatName(String(code)))
  if (names.length > MAX_NAMES)
    return `${names.slice(0, MAX_NAMES).join(', ')} and ${names.length - MAX_NAMES} more`
  return names.join(' or ') || 'none at all'
}
