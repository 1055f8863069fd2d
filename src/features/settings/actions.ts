import { t } from 'elysia'
import { UsageError } from '../../lib/command.ts'
import { invalidField } from '../../lib/errors.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { readInput } from '../../platform/actions/command-line.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import {
  auditChange,
  publicationActions,
  Reason,
  toPublishing,
} from '../../platform/publications/actions.ts'
import type { Change } from '../../platform/publications/publications.ts'
import { flatten, formatLines } from './commands.ts'
import type { StoredSettings } from './model.ts'
import type { Settings } from './service.ts'

type Needs = { settings: Settings }

const publications = publicationActions({
  kind: 'settings',
  noun: 'settings',
  summary: 'Replace all settings with those in a JSON file',
  history: 'settings get --history',
  find: ({ settings }: Needs) => settings,
  report: describeValues,
  print: formatLines,
})

const set = defineAction({
  name: 'settings.set',
  summary: 'Change app settings: key=value, such as ios.latestVersion=2.4.0',
  label: 'Changed settings',
  role: 'operator',
  input: closedObject({ texts: t.Record(t.String(), t.String()), ...Reason.properties }),
  console: null,
  async work({ settings }: Needs, { texts, ...reason }, context) {
    const all = flatten(await settings.read())
    const changes = Object.entries(texts).map(([key, text]) => [
      key,
      parseValue(key, text, typeof all[key] === 'string'),
    ])
    return settings.set(Object.fromEntries(changes), toPublishing(reason, context))
  },
  audit: (change) => auditChange(change),
  command: {
    arguments: { texts: '<key=value...>' },
    read: (pairs, options) => ({
      ...readInput(Reason, [], [], options),
      texts: Object.fromEntries(pairs.map(parsePair)),
    }),
    report: describeValues,
    print: formatLines,
  },
})

const unset = defineAction({
  name: 'settings.unset',
  summary: 'Remove custom settings, such as features.newPaywall',
  label: 'Removed settings',
  role: 'operator',
  input: closedObject({ keys: t.Array(t.String()), ...Reason.properties }),
  console: null,
  work: ({ settings }: Needs, { keys, ...reason }, context) =>
    settings.unset(keys, toPublishing(reason, context)),
  audit: (change) => auditChange(change),
  command: {
    arguments: { keys: '<key...>' },
    report: describeValues,
    print: formatLines,
  },
})

/** The default values by key, and the warnings about the rules if there are any. */
async function describeValues({ content }: Change<StoredSettings>, { settings }: Needs) {
  const warnings = await settings.warn()
  return { ...flatten(content), ...(warnings.length > 0 ? { warnings } : {}) }
}

function parsePair(pair: string): [key: string, value: string] {
  const at = pair.indexOf('=')
  if (at < 1) throw new UsageError(`Write ${pair} as key=value.`)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

/** Values are text, except booleans, build numbers and numeric custom settings. A custom setting that is text stays text. */
function parseValue(key: string, text: string, isText: boolean): unknown {
  const isCustom = key.startsWith('features.')
  if (isCustom && isText) return text
  if (text === 'true' || text === 'false') return text === 'true'
  if (isCustom && /^(\[.*\]|\{.*\})$/s.test(text))
    throw invalidField(key, 'must be true, false, a number or text: use a setting for each value')
  if (isCustom && /^-?\d{1,15}(\.\d{1,10})?$/.test(text)) return Number(text)
  return key.endsWith('BuildNumber') && /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

export const settingsActions = [...publications, set, unset]
