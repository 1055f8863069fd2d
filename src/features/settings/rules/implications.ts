import { isVariantOfAny } from '../../../lib/text/locale.ts'
import { compareVersions } from '../../../lib/text/versions.ts'
import type { Condition } from './conditions.ts'

type ConditionName = keyof Condition

/** Whether `given` guarantees a condition. `percent` is compared within the same rollout. */
const GUARANTEES: {
  [Name in ConditionName]-?: (given: Condition, wanted: NonNullable<Condition[Name]>) => boolean
} = {
  platform: ({ platform }, wanted) => platform === wanted,
  minVersion: ({ minVersion }, wanted) =>
    minVersion !== undefined && compareVersions(minVersion, wanted) >= 0,
  belowVersion: ({ belowVersion, maxVersion }, wanted) =>
    (belowVersion !== undefined && compareVersions(belowVersion, wanted) <= 0) ||
    (maxVersion !== undefined && compareVersions(maxVersion, wanted) < 0),
  maxVersion: ({ belowVersion, maxVersion }, wanted) =>
    [belowVersion, maxVersion].some(
      (highest) => highest !== undefined && compareVersions(highest, wanted) <= 0,
    ),
  languages: ({ languages }, wanted) => languages?.every(isVariantOfAny(wanted)) ?? false,
  countries: ({ countries }, wanted) => isSubset(countries, wanted),
  plans: ({ plans }, wanted) => isSubset(plans, wanted),
  percent: ({ percent }, wanted) => wanted === 100 || (percent !== undefined && percent <= wanted),
}

/** Whether everyone who meets all of `given` also meets `when`. */
export function guarantee(given: Condition[], when: Condition): boolean {
  const names = Object.keys(when) as ConditionName[]
  return names.every((name) => {
    const wanted = when[name]
    return wanted === undefined || given.some((one) => GUARANTEES[name](one, wanted as never))
  })
}

export function areExclusive(a: Condition, b: Condition): boolean {
  return (
    [a, b].some(({ percent }) => percent === 0) ||
    (a.platform !== undefined && b.platform !== undefined && a.platform !== b.platform) ||
    startsAfter(a, b) ||
    startsAfter(b, a) ||
    areApart(a.countries, b.countries) ||
    areApart(a.plans, b.plans) ||
    (a.languages !== undefined &&
      b.languages !== undefined &&
      !a.languages.some(isVariantOfAny(b.languages)) &&
      !b.languages.some(isVariantOfAny(a.languages)))
  )
}

function startsAfter({ minVersion }: Condition, { belowVersion, maxVersion }: Condition): boolean {
  if (minVersion === undefined) return false
  return (
    (belowVersion !== undefined && compareVersions(minVersion, belowVersion) >= 0) ||
    (maxVersion !== undefined && compareVersions(minVersion, maxVersion) > 0)
  )
}

function areApart(a: string[] | undefined, b: string[] | undefined): boolean {
  if (a === undefined || b === undefined) return false
  return new Set(a).isDisjointFrom(new Set(b))
}

function isSubset(members: string[] | undefined, all: string[]): boolean {
  return members !== undefined && new Set(members).isSubsetOf(new Set(all))
}
