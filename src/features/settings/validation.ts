import { AppError, type ErrorDetail } from '../../lib/errors.ts'
import { differencesBetween } from '../../lib/text/differences.ts'
import { parseMailbox, trimAddress } from '../../lib/text/email-address.ts'
import { isRule } from '../../lib/text/rule-labels.ts'
import { compareVersions } from '../../lib/text/versions.ts'
import { check } from '../../lib/validation.ts'
import { StoredSettings } from './model.ts'
import type { Rule } from './rules/conditions.ts'
import { areExclusive, guarantee } from './rules/implications.ts'
import { listSettings, type Setting } from './rules/resolution.ts'

const LINK_SCHEMES = ['https:', 'http:', 'market:', 'itms-apps:']
const INVALID_LINK = `must be a URL that begins with one of ${LINK_SCHEMES.join(', ')}`

/** Returns the settings without empty rule lists. Skips links and addresses that are unchanged since `before`. */
export function checkEdit(sent: unknown, before: StoredSettings): StoredSettings {
  const edited = withTrimmedAddress(sent)
  const problems = differencesBetween(before, edited).flatMap(({ path, after }) => {
    const rule = /^rules\.(.+)\.\d+$/.exec(path)
    const [key = '', value, valuePath] =
      rule && isRule(after) ? [rule[1], after.value, `${path}.value`] : [path, after, path]
    const message = findTextProblem(key, value)
    return message === null ? [] : [{ path: `settings.${valuePath}`, message }]
  })
  const settings = problems.length > 0 ? null : check(StoredSettings, edited, 'settings')
  if (settings !== null) {
    const all = listSettings(settings)
    problems.push(
      ...checkSupportedVersion('ios', all),
      ...checkSupportedVersion('android', all),
      ...checkValueTypes(all),
    )
  }
  if (settings !== null && problems.length === 0) return withoutEmptyRules(settings)
  throw new AppError('validation_failed', 'The settings are invalid.', { details: problems })
}

/** What is wrong with a link or an address; null if nothing, or if the setting is neither. */
function findTextProblem(key: string, value: unknown): string | null {
  if (/(Link|Url)$/.test(key) && !key.startsWith('features.') && !isLink(value)) return INVALID_LINK
  if (key === 'supportEmail' && typeof value === 'string' && !isMailbox(value))
    return 'must be an e-mail address'
  return null
}

/** If the latest version were unsupported for some users, they could use no version. */
function checkSupportedVersion(platform: 'ios' | 'android', settings: Setting[]): ErrorDetail[] {
  const find = (name: string) =>
    settings.find(({ key }) => key === `${platform}.${name}`) as Setting
  const versions = listPairs(find('supportedVersion'), find('latestVersion'))
    .filter((pair) => canMeet(pair, platform))
    .map((pair) => {
      const [supported, latest] = pair
      return { pair, difference: compareVersions(String(supported.value), String(latest.value)) }
    })
  const tooNew = versions.filter(({ difference }) => difference > 0).map(({ pair }) => pair)
  if (tooNew.length > 0) return tooNew.map((pair) => aboveLatest(pair, 'latestVersion'))
  // Build numbers may restart with each version, so they are compared only within the same version.
  const equal = versions.filter(({ difference }) => difference === 0)
  return listPairs(find('supportedBuildNumber'), find('latestBuildNumber'))
    .filter(([supported, latest]) => Number(supported.value) > Number(latest.value))
    .filter((builds) => equal.some(({ pair }) => canMeet([...pair, ...builds], platform)))
    .map((builds) => aboveLatest(builds, 'latestBuildNumber'))
}

/** A value that a setting may have. `earlier`: the rules before the one that gives it. */
type Choice = Rule & { path: string; earlier: Rule[] }

/** All values that a setting may have; the default value is the last. */
function listChoices({ key, rules, value }: Setting): Choice[] {
  return [...rules, { when: {}, value }].map((rule, at) => {
    const path = at < rules.length ? `rules.${key}.${at}.value` : key
    return { ...rule, path: `settings.${path}`, earlier: rules.slice(0, at) }
  })
}

function listPairs(one: Setting, other: Setting): [Choice, Choice][] {
  return listChoices(one).flatMap((first) =>
    listChoices(other).map((second): [Choice, Choice] => [first, second]),
  )
}

function canMeet(choices: Choice[], platform: 'ios' | 'android'): boolean {
  const conditions = [{ platform }, ...choices.map(({ when }) => when)]
  const earlier = choices.flatMap((choice) => choice.earlier)
  return (
    !conditions.some((when) => conditions.some((second) => areExclusive(when, second))) &&
    !earlier.some(({ when }) => guarantee(conditions, when))
  )
}

function aboveLatest([{ path }, { value }]: [Choice, Choice], name: string): ErrorDetail {
  return { path, message: `must not be above ${name}, which is ${value} for these users` }
}

/** All values of a setting must have the same type, because apps expect only one. */
function checkValueTypes(settings: Setting[]): ErrorDetail[] {
  return settings.flatMap(({ key, value, rules }) =>
    rules.flatMap((rule, at) =>
      typeof rule.value === typeof value
        ? []
        : [
            {
              path: `settings.${key}.rules.${at}.value`,
              message: `must be of the same type as the default value: ${typeof value}`,
            },
          ],
    ),
  )
}

/** Settings without rules are stored in the old form. */
function withoutEmptyRules({ rules = {}, ...settings }: StoredSettings): StoredSettings {
  const entries = Object.entries(rules).flatMap(([key, list = []]) =>
    list.length > 0 ? [[key, list] as const] : [],
  )
  return entries.length === 0 ? settings : { ...settings, rules: Object.fromEntries(entries) }
}

function withTrimmedAddress(edited: unknown): unknown {
  const { supportEmail } = (edited ?? {}) as { supportEmail?: unknown }
  if (typeof supportEmail !== 'string') return edited
  return { ...(edited as object), supportEmail: trimAddress(supportEmail) }
}

function isMailbox(text: string): boolean {
  return text === '' || parseMailbox(text) !== null
}

/** Whether a value is empty or a link. The schema refuses values that are not text. */
function isLink(value: unknown): boolean {
  if (value === '' || typeof value !== 'string') return true
  return LINK_SCHEMES.includes(URL.parse(value)?.protocol ?? '')
}
