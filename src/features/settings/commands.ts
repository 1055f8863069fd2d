import {
  dataCommand,
  type Options,
  parseListOption,
  prettyJson,
  readJsonFile,
  UsageError,
} from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import { plainVersion } from '../../lib/text/versions.ts'
import {
  historyOption,
  noteOption,
  printHistory,
  readNote,
  readVersion,
} from '../../platform/publications/doors.ts'
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

const settingsSet = dataCommand({
  name: 'settings set',
  summary: 'Change app settings: key=value, such as ios.latestVersion=2.4.0',
  arguments: '<key=value...>',
  options: [noteOption],
  input: (pairs, options) => ({
    texts: Object.fromEntries(pairs.map(parsePair)),
    by: readNote(options),
  }),
  before: async ({ settings }: Needs, { texts }) => {
    const all = flatten(await settings.read())
    return Object.fromEntries(Object.keys(texts).map((key) => [key, all[key] ?? null]))
  },
  work: async ({ settings }: Needs, { texts, by }) => {
    const all = flatten(await settings.read())
    const changes = Object.entries(texts).map(([key, text]) => [
      key,
      parseValue(key, text, typeof all[key] === 'string'),
    ])
    return published(settings, await settings.set(Object.fromEntries(changes), by))
  },
  print: formatLines,
  changes: (after: Record<string, unknown>, { texts }) => ({
    changed: Object.fromEntries(Object.keys(texts).map((key) => [key, after[key]])),
  }),
})

const settingsUnset = dataCommand({
  name: 'settings unset',
  summary: 'Remove custom settings, such as features.newPaywall',
  arguments: '<key...>',
  options: [noteOption],
  input: (keys, options) => ({ keys, by: readNote(options) }),
  work: async ({ settings }: Needs, { keys, by }) =>
    published(settings, await settings.unset(keys, by)),
  print: formatLines,
  changes: (_settings, { keys }) => ({ removed: keys }),
})

const settingsExport = dataCommand({
  name: 'settings export',
  summary: 'Print all settings with their rules as JSON for "settings import"',
  work: ({ settings }: Needs) => settings.read(),
  print: prettyJson,
})

const settingsImport = dataCommand({
  name: 'settings import',
  summary: 'Replace all settings with those in a JSON file',
  arguments: '<file>',
  options: [noteOption],
  input: async ([file], options) => ({ edited: await readJsonFile(file), by: readNote(options) }),
  work: async ({ settings }: Needs, { edited, by }) =>
    published(settings, await settings.publish(edited, by)),
  print: formatLines,
  changes: () => ({ imported: true }),
})

const settingsRollback = dataCommand({
  name: 'settings rollback',
  summary: 'Publish an earlier version again; "settings get --history" lists them',
  arguments: '<version>',
  input: ([version]) => readVersion(version),
  work: async ({ settings }: Needs, version: number) =>
    published(settings, await settings.rollBack(version)),
  print: formatLines,
  changes: (_settings, version) => ({ version }),
})

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
    throw new UsageError('--app-version takes a version such as 2.4.0.')
  return {
    platform: text('platform')?.toLowerCase() ?? null,
    version,
    languages: parseListOption(options['language']),
    country: text('country')?.toUpperCase() ?? null,
    plan: text('plan'),
    id: text('id'),
  }
}

function parsePair(pair: string): [key: string, value: string] {
  const at = pair.indexOf('=')
  if (at < 1) throw new UsageError(`Write ${pair} as key=value.`)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

/** Values are text, except booleans, build numbers and numeric custom settings. A custom text stays text. */
function parseValue(key: string, text: string, isText: boolean): unknown {
  const isCustom = key.startsWith('features.')
  if (isCustom && isText) return text
  if (text === 'true' || text === 'false') return text === 'true'
  if (isCustom && /^-?\d{1,15}(\.\d{1,10})?$/.test(text)) return Number(text)
  return key.endsWith('BuildNumber') && /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

/** The default values by key. */
function flatten(settings: StoredSettings): Record<string, unknown> {
  return Object.fromEntries(listSettings(settings).map(({ key, value }) => [key, value]))
}

/** The default values by key, and the warnings about the rules if there are any. */
async function published(settings: Settings, stored: StoredSettings) {
  const warnings = await settings.warn()
  return { ...flatten(stored), ...(warnings.length > 0 ? { warnings } : {}) }
}

function formatLines({ warnings = [], ...values }: Record<string, unknown>): string {
  const lines = Object.entries(values).map(([key, value]) => `${key}=${value}`)
  return [...lines, ...(warnings as string[]).map(formatWarning)].join('\n')
}

function formatWarning(warning: string): string {
  return `Warning: ${warning}`
}

function unknownKeys(keys: string[]): AppError {
  return new AppError('not_found', `These settings do not exist: ${keys.join(', ')}.`)
}

export const settingsCommands = [
  settingsGet,
  settingsSet,
  settingsUnset,
  settingsExport,
  settingsImport,
  settingsRollback,
  settingsExplain,
]
