import { dataCommand, UsageError } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import type { AppSettings } from './model.ts'
import type { Settings } from './service.ts'

type Needs = { settings: Settings }

const settingsGet = dataCommand({
  name: 'settings get',
  summary: 'Show the app settings, or those of the given keys',
  arguments: '[key...]',
  input: (keys) => keys,
  work: async ({ settings }: Needs, keys: string[]) => {
    const all = flat(await settings.read())
    const unknown = keys.filter((key) => !Object.hasOwn(all, key))
    if (unknown.length > 0) {
      throw new AppError('not_found', `There is not a setting ${unknown.join(', ')}.`)
    }
    return keys.length === 0 ? all : Object.fromEntries(keys.map((key) => [key, all[key]]))
  },
  print: lines,
})

const settingsSet = dataCommand({
  name: 'settings set',
  summary: 'Change app settings: key=value, such as ios.latestVersion=2.4.0',
  arguments: '<key=value...>',
  input: (pairs) => Object.fromEntries(pairs.map(parsePair)),
  work: async ({ settings }: Needs, changes: Record<string, unknown>) =>
    flat(await settings.set(changes)),
  print: lines,
  changes: (_settings, changed) => ({ changed }),
})

/** `true`, `false` and whole numbers are what they look like; the field's own type decides the rest. */
function parsePair(pair: string): [string, unknown] {
  const at = pair.indexOf('=')
  if (at < 1) throw new UsageError(`Write ${pair} as key=value.`)
  return [pair.slice(0, at), parseValue(pair.slice(0, at), pair.slice(at + 1))]
}

function parseValue(key: string, text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  return key.endsWith('BuildNumber') && /^\d{1,15}$/.test(text) ? Number(text) : text
}

function flat({ ios, android, ...rest }: AppSettings): Record<string, unknown> {
  const under = (name: string, part: object) =>
    Object.fromEntries(Object.entries(part).map(([key, value]) => [`${name}.${key}`, value]))
  return { ...rest, ...under('ios', ios), ...under('android', android) }
}

function lines(values: Record<string, unknown>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')
}

export const settingsCommands = [settingsGet, settingsSet]
