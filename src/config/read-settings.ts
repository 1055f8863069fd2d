import { readFileSync } from 'node:fs'
import { distance } from 'fastest-levenshtein'
import type { Setting, Settings, ValuesOf } from './setting.ts'

export type SettingsReader = ReturnType<typeof createSettingsReader>

/** Part of an environment, which overrides the layers after it. */
type Layer = Record<string, string | undefined>

/** Data is encrypted with their current values, so quotes in them cannot be refused. */
const KEPT_QUOTES = ['BACKUP_KEY', 'SECRET_KEY']
/** The value that Kubernetes sets as `<SERVICE>_PORT` in every container. */
export const SERVICE_LINK = /^(tcp|udp|sctp):\/\//

/** Reads variables, or the files that `<NAME>_FILE` names, and collects the problems, never with a value. */
export function createSettingsReader(layers: Layer[]) {
  const problems: string[] = []
  const warnings: string[] = []
  const names: string[] = []
  return { env, readAll, problems, warnings, names }

  function readAll<Group extends object>(group: Group): ValuesOf<Group> {
    const entries = Object.entries(group as Settings)
    return Object.fromEntries(entries.map(([key, one]) => [key, read(one)])) as ValuesOf<Group>
  }

  function read<T>({ name: current, aliases = [], kind }: Setting<T>): T {
    names.push(current, ...aliases)
    const name = [current, ...aliases].find(isSet) ?? current
    if (kind.isPath) checkPath(name)
    const text = env(name)
    if (text === undefined) return kind.fallback
    const value = text.trim() === '' ? undefined : kind.parse(text.trim())
    if (value !== undefined) return value
    const hint =
      kind.isPort && SERVICE_LINK.test(text)
        ? ', and Kubernetes has set it for a Service of that name: set enableServiceLinks: false'
        : ''
    const empty = text.trim() === '' ? ', but is empty' : ''
    problems.push(`${name} must be ${kind.expected}${hint}${empty}`)
    return kind.fallback
  }

  function isSet(name: string): boolean {
    return layers.some((one) => one[name] !== undefined || Object.hasOwn(one, `${name}_FILE`))
  }

  function checkPath(name: string) {
    if (layers.some((layer) => Object.hasOwn(layer, `${name}_FILE`)))
      problems.push(`${name} is the path of a file itself: set it instead of ${name}_FILE`)
    if (isUnexpanded(env(name) ?? ''))
      problems.push(`${name} has "~" or "$", which only a shell replaces: write the whole path`)
  }

  function env(name: string): string | undefined {
    const text = lookUp(name)
    const [, , unquoted] = /^(["'])(.*)\1$/s.exec(text?.trim() ?? '') ?? []
    if (unquoted === undefined) return text
    const sentence = `${name} has quotes around its value, which would become part of it`
    if (!KEPT_QUOTES.includes(name)) problems.push(`${sentence}: remove them`)
    else
      warnings.push(
        `${sentence}: data may be encrypted with them, so keep a copy when you remove them`,
      )
    return text
  }

  function lookUp(name: string): string | undefined {
    const file = `${name}_FILE`
    const layer = layers.find((one) => one[name] !== undefined || Object.hasOwn(one, file))
    if (!layer || !Object.hasOwn(layer, file)) return layer?.[name]
    if (layer[name] !== undefined) problems.push(`${name} and ${file} are both set: remove one`)
    try {
      return readFileSync(layer[file] ?? '', 'utf8')
    } catch (error) {
      problems.push(`${file} cannot be read (${(error as { code?: string }).code})`)
      return undefined
    }
  }
}

/** Whether a path has a part that a shell would have replaced. */
export function isUnexpanded(path: string): boolean {
  return /^\s*~|\$\{?\w/.test(path)
}

/** Variables that are probably misspellings of one of `names`, each with the name it was meant to be. */
export function findMisspelled(actual: string[], names: string[]) {
  return actual.flatMap((name) => {
    if (names.includes(name.replace(/_FILE$/, '')) || names.includes(name)) return []
    const plain = name
      .toUpperCase()
      .replaceAll('-', '_')
      .replace(/^HOMEPORT_/, '')
    const meant = names.find((known) => {
      const allowed = countAllowedTypos(known)
      // Comparing the lengths first rules out most names.
      return Math.abs(known.length - plain.length) <= allowed && distance(known, plain) <= allowed
    })
    return meant === undefined ? [] : [{ name, meant }]
  })
}

/** Short names are close to too many others. */
function countAllowedTypos({ length }: string): number {
  return length < 8 ? 0 : length < 12 ? 2 : 3
}
