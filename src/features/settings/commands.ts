import { dataCommand, type Options, parseListOption, UsageError } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import { plainVersion } from '../../lib/text/versions.ts'
import { exportCommand, historyOption, printHistory } from '../../platform/publications/commands.ts'
import type { StoredSettings } from './model.ts'
import type { Audience } from './rules/conditions.ts'
import { type Explanation, listSettings } from './rules/resolution.ts'
import type { Settings } from './service.ts'

type Needs = { settings: Settings }

const settingsGet = dataCommand({
  name: 'settings get',
  summary: 'Show all app settings, or only the given keys',
  arguments: '[key...]',
  options: [historyOption],
  input: (keys, { history }) => ({ keys, showHistory: history === true }),
  work: async ({ settings }: Needs, { keys, showHistory }) => {
    if (showHistory) return (await settings.history()).versions
    const all = flatten(await settings.read())
    const unknown = keys.filter((key) => !Object.hasOwn(all, key))
    if (unknown.length > 0) throw unknownKeys(unknown)
    return keys.length === 0 ? all : Object.fromEntries(keys.map((key) => [key, all[key]]))
  },
  print: (outcome) => (Array.isArray(outcome) ? printHistory(outcome) : formatLines(outcome)),
})

const settingsExport = exportCommand(
  'settings',
  'all settings with their rules',
  ({ settings }: Needs) => settings,
)

const settingsExplain = dataCommand({
  name: 'settings explain',
  summary:
    'Show what an app gets, and why each rule matches or not; all settings with rules, or the given keys',
  arguments: '[key...]',
  options: [
    ['--platform <name>', 'ios, android or web'],
    ['--app-version <version>', 'the version of the app'],
    ['--language <tags>', 'the languages of the device, best first, separated by commas', 'list'],
    ['--country <code>', 'the country of the user, such as DE'],
    ['--plan <code>', 'the plan of the signed-in user'],
    ['--id <id>', 'the id of the signed-in user, or of the device'],
  ],
  input: (keys, options) => ({ keys, audience: parseAudience(options) }),
  work: async ({ settings }: Needs, { keys, audience }) => {
    const all = await settings.explain(audience)
    const unknown = keys.filter((key) => !all.some((one) => one.key === key))
    if (unknown.length > 0) throw unknownKeys(unknown)
    const isShown = ({ key, reasons }: Explanation) =>
      keys.length === 0 ? reasons.length > 0 : keys.includes(key)
    return { settings: all.filter(isShown), warnings: await settings.warn() }
  },
  print: ({ settings, warnings }) =>
    [
      ...(settings.length === 0 ? ['No setting has rules.'] : []),
      ...settings.flatMap(({ key, value, reasons }) => [
        `${key}=${value}`,
        ...reasons.map((reason) => `  ${reason}`),
      ]),
      ...warnings.map(formatWarning),
    ].join('\n'),
})

function parseAudience(options: Options): Audience {
  const text = (name: string) => {
    const value = options[name]
    return typeof value === 'string' && value !== '' ? value : null
  }
  const stated = text('appVersion')
  const version = stated === null ? null : plainVersion(stated)
  if (stated !== null && version === null)
    throw new UsageError('--app-version must be a version such as 2.4.0.')
  return {
    platform: text('platform')?.toLowerCase() ?? null,
    version,
    languages: parseListOption(options['language']),
    country: text('country')?.toUpperCase() ?? null,
    plan: text('plan'),
    id: text('id'),
  }
}

export function flatten(settings: StoredSettings): Record<string, unknown> {
  return Object.fromEntries(listSettings(settings).map(({ key, value }) => [key, value]))
}

/** A line for each value, and for each of the `warnings`. */
export function formatLines({ warnings = [], ...values }: Record<string, unknown>): string {
  const lines = Object.entries(values).map(([key, value]) => `${key}=${value}`)
  return [...lines, ...(warnings as string[]).map(formatWarning)].join('\n')
}

function formatWarning(warning: string): string {
  return `Warning: ${warning}`
}

function unknownKeys(keys: string[]): AppError {
  return new AppError('not_found', `These settings do not exist: ${keys.join(', ')}.`)
}

export const settingsCommands = [settingsGet, settingsExport, settingsExplain]
