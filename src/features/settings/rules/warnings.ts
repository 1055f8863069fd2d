import type { Condition } from './conditions.ts'
import { guarantee } from './implications.ts'
import type { Setting } from './resolution.ts'

/** What decides whether a rule can match at all. */
type Surroundings = {
  /** Null for none. */
  countryHeader: string | null
  planCodes: string[]
}

/** One sentence for each rule that can never match. */
export function listWarnings(settings: Setting[], surroundings: Surroundings): string[] {
  return settings.flatMap(({ key, rules }) =>
    rules.flatMap(({ when }, at) => {
      const rule = `${key}, rule ${at + 1}`
      const earlier = rules.slice(0, at).findIndex((one) => guarantee([when], one.when))
      return [
        ...listObstacles(when, surroundings),
        ...(earlier < 0 ? [] : [`never applies, because rule ${earlier + 1} matches first`]),
      ].map((obstacle) => `${rule} ${obstacle}.`)
    }),
  )
}

function listObstacles(
  { countries, plans = [] }: Condition,
  { countryHeader, planCodes }: Surroundings,
): string[] {
  const unknown = plans.filter((code) => !planCodes.includes(code))
  return [
    ...(countries !== undefined && countryHeader === null
      ? ['never applies, because COUNTRY_HEADER is not set: the country of users is unknown']
      : []),
    ...unknown.map((code) => `names the plan ${code}, which does not exist`),
  ]
}
