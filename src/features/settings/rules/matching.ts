import { PLATFORM_NAMES } from '../../../lib/app-platforms.ts'
import { sha256 } from '../../../lib/crypto/hash.ts'
import { isVariantOfAny } from '../../../lib/text/locale.ts'
import { compareVersions } from '../../../lib/text/versions.ts'
import type { Audience, Condition, Trait } from './conditions.ts'

type ConditionName = keyof Condition

/** A requester, and the name of the rollout, which decides who is included. */
type Requester = Audience & { rollout: string }

type Matcher<Wanted> = {
  trait: Trait
  isMet: (wanted: Wanted, requester: Requester) => boolean
  /** What is known about the requester, such as `country is AT`. */
  fact: (requester: Requester, wanted: Wanted, isMet: boolean) => string
  /** Such as `DE or AT`; null if the fact already says it. */
  requirement: (wanted: Wanted) => string | null
}

const MATCHERS: { [Name in ConditionName]-?: Matcher<NonNullable<Condition[Name]>> } = {
  platform: {
    trait: 'platform',
    isMet: (wanted, { platform }) => platform === wanted,
    fact: ({ platform }) => `platform is ${platformName(platform)}`,
    requirement: platformName,
  },
  minVersion: versionMatcher(
    (difference) => difference >= 0,
    (wanted) => `${wanted} or newer`,
  ),
  belowVersion: versionMatcher(
    (difference) => difference < 0,
    (wanted) => `a version below ${wanted}`,
  ),
  maxVersion: versionMatcher(
    (difference) => difference <= 0,
    (wanted) => `${wanted} or older`,
  ),
  languages: {
    trait: 'language',
    isMet: (wanted, { languages }) => matchesLanguage(languages, wanted),
    fact: ({ languages }) => `language is ${languages[0] ?? 'unknown'}`,
    requirement: joinWithOr,
  },
  countries: {
    trait: 'country',
    isMet: (wanted, { country }) => country !== null && wanted.includes(country),
    fact: ({ country }) => `country is ${country ?? 'unknown'}`,
    requirement: joinWithOr,
  },
  plans: {
    trait: 'plan',
    isMet: (wanted, { plan }) => plan !== null && wanted.includes(plan),
    fact: ({ plan }) => `plan is ${plan ?? 'none (signed out)'}`,
    requirement: joinWithOr,
  },
  percent: {
    trait: 'id',
    isMet: (wanted, { rollout, id }) => rolloutBucket(rollout, id) < wanted,
    fact: ({ rollout, id }, wanted, isMet) => {
      const verb = isMet ? 'includes' : 'does not include'
      if (id === null) return `${wanted}% ${verb} requests without a user or device id`
      return `${wanted}% ${verb} this user (${Math.floor(rolloutBucket(rollout, id) * 10) / 10})`
    },
    requirement: () => null,
  },
}

export function matches(when: Condition, requester: Requester): boolean {
  return listConditions(when).every(([{ isMet }, wanted]) => isMet(wanted, requester))
}

/** The conditions that are not met, in words; if all are, the facts that meet them. */
export function explainMatch(when: Condition, requester: Requester): string {
  const checked = listConditions(when).map(([{ isMet, fact, requirement }, wanted]) => {
    const isFulfilled = isMet(wanted, requester)
    const known = fact(requester, wanted, isFulfilled)
    const required = isFulfilled ? null : requirement(wanted)
    return {
      isFulfilled,
      text: required === null ? known : `${known}, the rule requires ${required}`,
    }
  })
  const failed = checked.filter(({ isFulfilled }) => !isFulfilled)
  const texts = (failed.length > 0 ? failed : checked).map(({ text }) => text)
  return texts.join(failed.length > 0 ? '; ' : ', ') || 'it applies to everyone'
}

export function findTraits(conditions: Condition[]): Trait[] {
  const used = new Set(
    conditions.flatMap((when) => listConditions(when).map(([{ trait }]) => trait)),
  )
  const ordered = Object.values(MATCHERS).map(({ trait }) => trait)
  return [...new Set(ordered)].filter((trait) => used.has(trait))
}

function listConditions(when: Condition): [Matcher<never>, never][] {
  const names = Object.keys(MATCHERS) as ConditionName[]
  return names.flatMap((name): [Matcher<never>, never][] => {
    const wanted = when[name]
    return wanted === undefined ? [] : [[MATCHERS[name] as Matcher<never>, wanted as never]]
  })
}

function versionMatcher(
  accepts: (difference: number) => boolean,
  requirement: (wanted: string) => string,
): Matcher<string> {
  return {
    trait: 'version',
    isMet: (wanted, { version }) => version !== null && accepts(compareVersions(version, wanted)),
    fact: ({ version }) => `version is ${version ?? 'unknown'}`,
    requirement,
  }
}

/** `pt` matches all Portuguese, `pt-BR` only Brazilian. Only the user's preferred language counts. */
function matchesLanguage([preferred]: string[], wanted: string[]): boolean {
  return preferred !== undefined && isVariantOfAny(wanted)(preferred)
}

/**
 * From 0 to 100, stable per user or device, different for each rollout. Close to 100 without an id, to be included last.
 */
function rolloutBucket(rollout: string, id: string | null): number {
  if (id === null) return 99.999
  const hash = Buffer.from(sha256(`${rollout}:${id}`, 'hex').slice(0, 8), 'hex')
  return (hash.readUInt32BE(0) / 2 ** 32) * 100
}

function platformName(platform: string | null): string {
  return PLATFORM_NAMES[platform ?? ''] ?? platform ?? 'unknown'
}

function joinWithOr(names: string[]): string {
  return names.join(' or ') || 'none at all'
}
