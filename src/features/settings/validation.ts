import { differencesBetween } from '../../lib/differences.ts'
import { mailboxOf } from '../../lib/email-address.ts'
import { AppError, type ErrorDetail } from '../../lib/errors.ts'
import { check } from '../../lib/validation.ts'
import { compareVersions, type Features } from './conditions.ts'
import { StoredSettings } from './model.ts'

const LINK_SCHEMES = ['https:', 'http:', 'market:', 'itms-apps:']
const INVALID_LINK = `must be a URL that begins with one of ${LINK_SCHEMES.join(', ')}`

/** Validates an edit and returns the settings. Unchanged links and addresses are not checked again. */
export function checkEdit(before: StoredSettings, edited: unknown): StoredSettings {
  const problems: ErrorDetail[] = []
  for (const { path, after } of differencesBetween(before, edited)) {
    if (/(Link|Url)$/.test(path) && !path.startsWith('features.') && !isLink(after))
      problems.push({ path: `settings.${path}`, message: INVALID_LINK })
    if (path === 'supportEmail' && typeof after === 'string' && !isMailbox(after))
      problems.push({ path: 'settings.supportEmail', message: 'must be an e-mail address' })
  }
  const settings = problems.length > 0 ? null : check(StoredSettings, edited, 'settings')
  if (settings !== null) {
    problems.push(
      ...checkSupportedVersion('ios', settings),
      ...checkSupportedVersion('android', settings),
    )
    problems.push(...checkValueTypes(settings.features))
  }
  if (settings !== null && problems.length === 0) return settings
  throw new AppError('validation_failed', 'The settings are invalid.', { details: problems })
}

/** If the latest version were unsupported, no version could be used. */
function checkSupportedVersion(
  platform: 'ios' | 'android',
  settings: StoredSettings,
): ErrorDetail[] {
  const { latestVersion, supportedVersion, ...builds } = settings[platform]
  const comparison = compareVersions(supportedVersion, latestVersion)
  const path = `settings.${platform}`
  if (comparison > 0) {
    return [{ path: `${path}.supportedVersion`, message: 'must not be above latestVersion' }]
  }
  if (comparison < 0 || builds.supportedBuildNumber <= builds.latestBuildNumber) return []
  return [{ path: `${path}.supportedBuildNumber`, message: 'must not be above latestBuildNumber' }]
}

/** All values of a setting must have the same type, because apps expect only one. */
function checkValueTypes(features: Features): ErrorDetail[] {
  return Object.entries(features).flatMap(([name, { value, rules }]) =>
    rules.flatMap((rule, at) =>
      typeof rule.value === typeof value
        ? []
        : [
            {
              path: `settings.features.${name}.rules.${at}.value`,
              message: `must be of the same type as the default value: ${typeof value}`,
            },
          ],
    ),
  )
}

function isMailbox(text: string): boolean {
  return text === '' || mailboxOf(text) !== null
}

/** Whether a value is empty or a link. The schema refuses values that are not text. */
function isLink(value: unknown): boolean {
  if (value === '' || typeof value !== 'string') return true
  return LINK_SCHEMES.includes(URL.parse(value)?.protocol ?? '')
}
