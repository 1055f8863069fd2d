import { differencesBetween } from '../../lib/differences.ts'
import { mailboxOf } from '../../lib/email-address.ts'
import { AppError, type ErrorDetail } from '../../lib/errors.ts'
import { isRule } from '../../lib/rule-words.ts'
import { check } from '../../lib/validation.ts'
import { compareVersions } from '../../lib/versions.ts'
import { StoredSettings } from './model.ts'
import type { Rule } from './rules/conditions.ts'
import { areExclusive, guarantee } from './rules/implications.ts'
import { type Setting, settingsIn } from './rules/resolution.ts'

const LINK_SCHEMES = ['https:', 'http:', 'market:', 'itms-apps:']
const INVALID_LINK = `must be a URL that begins with one of ${LINK_SCHEMES.join(', ')}`

/**
 * Validates an edit and returns the settings, without empty lists of rules. Unchanged links and
 * addresses are not checked again.
 */
export function checkEdit(before: StoredSettings, edited: unknown): StoredSettings {
  const problems = differencesBetween(before, edited).flatMap(({ path, after }) => {
    const rule = /^rules\.(.+)\.\d+$/.exec(path)
    const [key = '', value, place] =
      rule && isRule(after) ? [rule[1], after.value, `${path}.value`] : [path, after, path]
    const message = faultOfText(key, value)
    return message === null ? [] : [{ path: `settings.${place}`, message }]
  })
  const settings = problems.length > 0 ? null : check(StoredSettings, edited, 'settings')
  if (settings !== null) {
    const all = settingsIn(settings)
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
function faultOfText(key: string, value: unknown): string | null {
  if (/(Link|Url)$/.test(key) && !key.startsWith('features.') && !isLink(value)) return INVALID_LINK
  if (key === 'supportEmail' && typeof value === 'string' && !isMailbox(value))
    return 'must be an e-mail address'
  return null
}

/** If the latest version were unsupported for some users, they could use no version. */
function checkSupportedVersion(platform: 'ios' | 'android', settings: Setting[]): ErrorDetail[] {
  const find = (name: string) =>
    settings.find(({ key }) => key === `${platform}.${name}`) as Setting
  const versions = combinationsOf(find('supportedVersion'), find('latestVersion'), platform)
  const comparisons = versions.map(({ path, values: [supported, latest] }) => {
    return { path, difference: compareVersions(String(supported), String(latest)), latest }
  })
  const problems = comparisons
    .filter(({ difference }) => difference > 0)
    .map(({ path, latest }) => {
      return {
        path,
        message: `must not be above latestVersion, which is ${latest} for these users`,
      }
    })
  if (problems.length > 0 || comparisons.every(({ difference }) => difference < 0)) return problems
  const builds = find('latestBuildNumber')
  return combinationsOf(find('supportedBuildNumber'), builds, platform)
    .filter(({ values: [supported, latest] }) => Number(supported) > Number(latest))
    .map(({ path, values: [, latest] }) => {
      return {
        path,
        message: `must not be above latestBuildNumber, which is ${latest} for these users`,
      }
    })
}

/** Each pair of values that an app on a platform may get, with the path of the first value. */
function combinationsOf(one: Setting, other: Setting, platform: 'ios' | 'android') {
  return choicesIn(one).flatMap((choice, at) =>
    choicesIn(other).flatMap((otherChoice, otherAt) => {
      const conditions = [{ platform }, choice.when, otherChoice.when]
      const earlier = [...one.rules.slice(0, at), ...other.rules.slice(0, otherAt)]
      const isPossible =
        !conditions.some((when) => conditions.some((second) => areExclusive(when, second))) &&
        !earlier.some(({ when }) => guarantee(conditions, when))
      const path = at < one.rules.length ? `rules.${one.key}.${at}.value` : one.key
      return isPossible
        ? [{ path: `settings.${path}`, values: [choice.value, otherChoice.value] }]
        : []
    }),
  )
}

/** The rules of a setting, and its default value as the last one. */
function choicesIn({ rules, value }: Setting): Rule[] {
  return [...rules, { when: {}, value }]
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

/** So that the settings without rules are stored as they were before there were rules. */
function withoutEmptyRules({ rules = {}, ...settings }: StoredSettings): StoredSettings {
  const entries = Object.entries(rules).flatMap(([key, list = []]) =>
    list.length > 0 ? [[key, list] as const] : [],
  )
  return entries.length === 0 ? settings : { ...settings, rules: Object.fromEntries(entries) }
}

function isMailbox(text: string): boolean {
  return text === '' || mailboxOf(text) !== null
}

/** Whether a value is empty or a link. The schema refuses values that are not text. */
function isLink(value: unknown): boolean {
  if (value === '' || typeof value !== 'string') return true
  return LINK_SCHEMES.includes(URL.parse(value)?.protocol ?? '')
}
