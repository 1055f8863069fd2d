import type { AppSettings, StoredSettings } from '../model.ts'
import type { Audience, Rule, Trait } from './conditions.ts'
import { explainMatch, findTraits, matches } from './matching.ts'

/** A fixed or custom setting. */
export type Setting = {
  /** `underMaintenance`, `ios.supportedVersion` or `features.newPaywall`. */
  key: string
  value: unknown
  rules: Rule[]
  /** Settings with the same rollout include the same users in a percentage. */
  rollout: string
}

/** The values that rules give instead of the defaults, by key. */
type Overrides = Record<string, unknown>

/** Why a setting has its value; one sentence for each rule. */
export type Explanation = { key: string; value: unknown; reasons: string[] }

/** All settings by key, in the order in which apps get them. */
export function listSettings({ features, rules = {}, ...fixed }: StoredSettings): Setting[] {
  const rulesByKey = rules as Record<string, Rule[] | undefined>
  const settings = Object.entries(fixed).flatMap(([field, value]): Setting[] => {
    if (typeof value !== 'object')
      return [{ key: field, value, rules: rulesByKey[field] ?? [], rollout: field }]
    // The versions of a platform belong together, so a percentage of users gets all of them.
    return Object.entries(value).map(([name, part]) => {
      const key = `${field}.${name}`
      return { key, value: part, rules: rulesByKey[key] ?? [], rollout: field }
    })
  })
  const custom = Object.entries(features).map(([name, feature]) => {
    return { key: `features.${name}`, ...feature, rollout: name }
  })
  return [...settings, ...custom]
}

export function overridesFor(settings: Setting[], audience: Audience): Overrides {
  const entries = settings.flatMap((setting): [string, unknown][] => {
    const rule = setting.rules[firstMatch(setting, audience)]
    return rule ? [[setting.key, rule.value]] : []
  })
  return Object.fromEntries(entries)
}

/** The traits that the values depend on; empty without rules. */
export function listTraits(settings: Setting[]): Trait[] {
  return findTraits(settings.flatMap(({ rules }) => rules.map(({ when }) => when)))
}

export function settingsForApp(stored: StoredSettings, overrides: Overrides): AppSettings {
  const result: Record<string, unknown> = {}
  for (const { key, value } of listSettings(stored)) {
    const [field = '', name] = key.split('.')
    const resolved = Object.hasOwn(overrides, key) ? overrides[key] : value
    if (name === undefined) result[field] = resolved
    else result[field] = { ...(result[field] as object | undefined), [name]: resolved }
  }
  return result as AppSettings
}

/** Each setting's value for an audience, and why each of its rules matched or did not. */
export function explainSettings(settings: Setting[], audience: Audience): Explanation[] {
  return settings.map((setting) => {
    const { key, value, rules, rollout } = setting
    const first = firstMatch(setting, audience)
    const reasons = rules.map(({ when }, at) => {
      const rule = `Rule ${at + 1}`
      if (first >= 0 && at > first)
        return `${rule} was not tried, because rule ${first + 1} matched.`
      const verb = at === first ? 'matched' : 'did not match'
      return `${rule} ${verb}: ${explainMatch(when, { ...audience, rollout })}.`
    })
    const byDefault = rules.length > 0 && first < 0 ? ['The default value applies.'] : []
    return { key, value: rules[first]?.value ?? value, reasons: [...reasons, ...byDefault] }
  })
}

/** The index of the first matching rule; -1 if none matches. */
function firstMatch({ rules, rollout }: Setting, audience: Audience): number {
  const requester = { ...audience, rollout }
  return rules.findIndex(({ when }) => matches(when, requester))
}
