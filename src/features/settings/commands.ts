import { dataCommand, prettyJson, readJsonFile, UsageError } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import {
  historyOption,
  noteOption,
  printHistory,
  readNote,
  readVersion,
} from '../../platform/publications/command-parts.ts'
import type { StoredSettings } from './model.ts'
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
    if (unknown.length > 0) {
      throw new AppError('not_found', `These settings do not exist: ${unknown.join(', ')}.`)
    }
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
    changes: Object.fromEntries(pairs.map(parsePair)),
    by: readNote(options),
  }),
  before: async ({ settings }: Needs, { changes }) => {
    const all = flatten(await settings.read())
    return Object.fromEntries(Object.keys(changes).map((key) => [key, all[key] ?? null]))
  },
  work: async ({ settings }: Needs, { changes, by }) => flatten(await settings.set(changes, by)),
  print: formatLines,
  changes: (_settings, { changes }) => ({ changed: changes }),
})

const settingsUnset = dataCommand({
  name: 'settings unset',
  summary: 'Remove custom settings, such as features.newPaywall',
  arguments: '<key...>',
  options: [noteOption],
  input: (keys, options) => ({ keys, by: readNote(options) }),
  work: async ({ settings }: Needs, { keys, by }) => flatten(await settings.unset(keys, by)),
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
  work: async ({ settings }: Needs, { edited, by }) => flatten(await settings.publish(edited, by)),
  print: formatLines,
  changes: () => ({ imported: true }),
})

const settingsRollback = dataCommand({
  name: 'settings rollback',
  summary: 'Publish an earlier version again; "settings get --history" lists them',
  arguments: '<version>',
  input: ([version]) => readVersion(version),
  work: async ({ settings }: Needs, version: number) => flatten(await settings.rollBack(version)),
  print: formatLines,
  changes: (_settings, version) => ({ version }),
})

/**
 * Parses `key=value`. Values are text, except booleans, build numbers and numeric custom settings.
 */
function parsePair(pair: string): [string, unknown] {
  const at = pair.indexOf('=')
  if (at < 1) throw new UsageError(`Write ${pair} as key=value.`)
  return [pair.slice(0, at), parseValue(pair.slice(0, at), pair.slice(at + 1))]
}

function parseValue(key: string, text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  const isNumber = key.endsWith('BuildNumber') || key.startsWith('features.')
  return isNumber && /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

function flatten({ ios, android, features, ...rest }: StoredSettings): Record<string, unknown> {
  const withPrefix = (name: string, part: object) =>
    Object.fromEntries(Object.entries(part).map(([key, value]) => [`${name}.${key}`, value]))
  const custom = Object.entries(features).map(([name, { value }]) => [`features.${name}`, value])
  return {
    ...rest,
    ...withPrefix('ios', ios),
    ...withPrefix('android', android),
    ...Object.fromEntries(custom),
  }
}

function formatLines(values: Record<string, unknown>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')
}

export const settingsCommands = [
  settingsGet,
  settingsSet,
  settingsUnset,
  settingsExport,
  settingsImport,
  settingsRollback,
]
