import { type Static, t } from 'elysia'
import { sha256 } from '../../lib/crypto.ts'
import { closedObject, oneOf } from '../../platform/http/envelope.ts'

const PLATFORMS = ['ios', 'android', 'web'] as const
const VERSION = '^\\d{1,9}(\\.\\d{1,9}){0,3}$'

const FeatureValue = t.Union([t.Boolean(), t.Number(), t.String({ maxLength: 10_000 })])
const version = t.String({ pattern: VERSION, error: 'must be a version such as 2.4.0' })

/**
 * The requests that a rule applies to. Every condition in it must match; a list matches if one of
 * its members does.
 */
const Condition = closedObject({
  platform: t.Optional(oneOf(PLATFORMS, { description: 'the platform of the app' })),
  minVersion: t.Optional(version),
  maxVersion: t.Optional(version),
  languages: t.Optional(
    t.Array(t.String({ pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$' }), { maxItems: 50 }),
  ),
  countries: t.Optional(
    t.Array(t.String({ pattern: '^[A-Z]{2}$', error: 'must be a country code such as BR' }), {
      maxItems: 250,
    }),
  ),
  /** A percentage of users, always the same ones. */
  percent: t.Optional(t.Number({ minimum: 0, maximum: 100 })),
})
type Condition = Static<typeof Condition>

/** A custom setting: the value of the first matching rule, else `value`. */
const Feature = closedObject({
  value: FeatureValue,
  rules: t.Array(closedObject({ when: Condition, value: FeatureValue }), { maxItems: 20 }),
})

export const Features = t.Record(
  t.String({ pattern: '^[a-z][A-Za-z0-9]{0,63}$', error: 'must be a name such as newPaywall' }),
  Feature,
  { additionalProperties: false },
)
export type Features = Static<typeof Features>

export type FeatureValues = Record<string, Static<typeof FeatureValue>>

/** What is known about the requester. `id`: the user's, else the device's. */
export type Audience = {
  platform: string | null
  version: string | null
  /** The user's languages, in order of preference. */
  languages: string[]
  country: string | null
  id: string | null
}

/** An unknown requester. */
export const ANYONE: Audience = {
  platform: null,
  version: null,
  languages: [],
  country: null,
  id: null,
}

/** The properties of a requester that rules can depend on. */
export type Trait = 'platform' | 'version' | 'language' | 'country' | 'id'

/** The value of each setting for an audience. */
export function valuesFor(features: Features, audience: Audience): FeatureValues {
  const entries = Object.entries(features)
  return Object.fromEntries(
    entries.map(([name, { value, rules }]) => {
      const rule = rules.find(({ when }) => ruleMatches(name, when, audience))
      return [name, rule ? rule.value : value]
    }),
  )
}

/** The traits that the values depend on; empty without rules. */
export function traitsOf(features: Features): Trait[] {
  const conditions = Object.values(features).flatMap(({ rules }) => rules.map(({ when }) => when))
  const usesAny = (...names: (keyof Condition)[]) =>
    conditions.some((when) => names.some((name) => when[name] !== undefined))
  const traits: [Trait, boolean][] = [
    ['platform', usesAny('platform')],
    ['version', usesAny('minVersion', 'maxVersion')],
    ['language', usesAny('languages')],
    ['country', usesAny('countries')],
    ['id', usesAny('percent')],
  ]
  return traits.flatMap(([trait, isUsed]) => (isUsed ? [trait] : []))
}

function ruleMatches(name: string, when: Condition, audience: Audience): boolean {
  const { platform, minVersion, maxVersion, languages, countries, percent } = when
  if (platform !== undefined && platform !== audience.platform) return false
  if (minVersion !== undefined && !isAtLeast(audience.version, minVersion)) return false
  if (maxVersion !== undefined && !isAtMost(audience.version, maxVersion)) return false
  if (languages !== undefined && !matchesLanguage(audience.languages, languages)) return false
  if (countries !== undefined && !countries.includes(audience.country ?? '')) return false
  return percent === undefined || rolloutBucket(name, audience.id) < percent
}

function isAtLeast(version: string | null, lowest: string): boolean {
  return version !== null && compareVersions(version, lowest) >= 0
}

function isAtMost(version: string | null, highest: string): boolean {
  return version !== null && compareVersions(version, highest) <= 0
}

/** `pt` matches all Portuguese, `pt-BR` only Brazilian. Only the user's first language counts. */
function matchesLanguage([preferred]: string[], wanted: string[]): boolean {
  if (preferred === undefined) return false
  const tag = preferred.toLowerCase()
  return wanted
    .map((language) => language.toLowerCase())
    .some((language) => tag === language || tag.startsWith(`${language}-`))
}

/**
 * A number from 0 to 100, stable per user or device and different for each setting. Without an id
 * it is close to 100, so a rollout includes unknown devices last.
 */
function rolloutBucket(name: string, id: string | null): number {
  if (id === null) return 99.999
  const hash = Buffer.from(sha256(`${name}:${id}`, 'hex').slice(0, 8), 'hex')
  return (hash.readUInt32BE(0) / 2 ** 32) * 100
}

/** Compares versions such as `2.4` and `2.10.1`; missing parts are 0. Negative when `a` is older. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number)) as [number[], number[]]
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
