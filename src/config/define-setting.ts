import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { distance } from 'fastest-levenshtein'
import { list, oneOf, wholeNumber } from './values.ts'

export const NETWORKS = 'addresses or networks, separated by commas'

export type SettingsReader = ReturnType<typeof createSettingsReader>

/** Part of an environment, which overrides the layers after it. */
type Layer = Record<string, string | undefined>

/** Data was encrypted with their present value, so that quotes in it cannot be refused. */
const KEPT_QUOTES = ['BACKUP_KEY', 'SECRET_KEY']
/** What Kubernetes sets as `<SERVICE>_PORT` in every container. */
export const SERVICE_LINK = /^(tcp|udp|sctp):\/\//

/**
 * Reads environment variables, or the files that `<NAME>_FILE` names, and collects every fault. A fault names the
 * variable and never its value.
 */
export function createSettingsReader(layers: Layer[]) {
  const faults: string[] = []
  const warnings: string[] = []
  const names: string[] = []
  return {
    env,
    read,
    optional,
    path,
    pathOr,
    all,
    choice,
    isOn,
    integer,
    count,
    port,
    faults,
    warnings,
    names,
  }

  function env(name: string): string | undefined {
    const text = lookUp(name)
    const [, , unquoted] = /^(["'])(.*)\1$/s.exec(text?.trim() ?? '') ?? []
    if (unquoted === undefined) return text
    const sentence = `${name} has quotes around its value, which would become part of it`
    if (!KEPT_QUOTES.includes(name)) faults.push(`${sentence}: remove them`)
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
    if (layer[name] !== undefined) faults.push(`${name} and ${file} are both set: remove one`)
    try {
      return readFileSync(layer[file] ?? '', 'utf8')
    } catch (error) {
      faults.push(`${file} cannot be read (${(error as { code?: string }).code})`)
      return undefined
    }
  }

  function read<T>(
    name: string,
    fallback: T,
    expected: string,
    parse: (text: string) => T | undefined,
  ): T {
    names.push(name)
    const text = env(name)
    if (text === undefined) return fallback
    const value = text.trim() === '' ? undefined : parse(text.trim())
    if (value !== undefined) return value
    faults.push(`${name} must be ${expected}${text.trim() === '' ? ', but is empty' : ''}`)
    return fallback
  }

  function optional<T>(
    name: string,
    expected: string,
    parse: (text: string) => T | undefined,
  ): T | null {
    return read<T | null>(name, null, expected, parse)
  }

  /** Reads a path and makes it absolute. */
  function path(name: string): string | null {
    return pathOr(name, 'a path', (text) => resolve(text))
  }

  /** Reads a path, or something else that `parse` accepts in its place. */
  function pathOr<T>(
    name: string,
    expected: string,
    parse: (text: string) => T | undefined,
  ): T | null {
    if (layers.some((layer) => Object.hasOwn(layer, `${name}_FILE`)))
      faults.push(`${name} is the path of a file itself: set it instead of ${name}_FILE`)
    if (isUnexpanded(env(name) ?? ''))
      faults.push(`${name} has "~" or "$", which only a shell replaces: write the whole path`)
    return optional(name, expected, parse)
  }

  /** Values separated by commas, all of which must be valid. */
  function all(name: string, expected: string, isValid: (part: string) => boolean): string[] {
    return read<string[]>(name, [], expected, (text) => list(text, isValid))
  }

  function choice<const T extends string>(
    name: string,
    choices: readonly T[],
    fallback: NoInfer<T>,
  ): T {
    const expected = choices.length === 2 ? choices.join(' or ') : `one of ${choices.join(', ')}`
    return read<T>(name, fallback, expected, (text) => oneOf(choices, text))
  }

  function isOn(name: string, isOnByDefault: boolean): boolean {
    return choice(name, ['on', 'off'], isOnByDefault ? 'on' : 'off') === 'on'
  }

  function integer(name: string, fallback: number, min: number, max: number): number {
    return inRange(name, fallback, `a number from ${min} to ${max}`, min, max)
  }

  function count(name: string, fallback: number, unit: 'bytes' | 'files', min = 0): number {
    const expected = `a number of ${unit}${min === 0 ? '' : ` from ${min}`}`
    return inRange(name, fallback, expected, min, Number.MAX_SAFE_INTEGER)
  }

  function port<T extends number | null>(name: string, fallback: T): T | number {
    const hint = SERVICE_LINK.test(env(name) ?? '')
      ? ', and Kubernetes has set it for a Service of that name: set enableServiceLinks: false'
      : ''
    return inRange(name, fallback, `a port from 0 to 65535${hint}`, 0, 65_535)
  }

  function inRange<T>(name: string, fallback: T, expected: string, min: number, max: number) {
    return read<T | number>(name, fallback, expected, (text) => {
      const value = wholeNumber(text, max)
      return value !== undefined && value >= min ? value : undefined
    })
  }
}

/** Whether a path has a part that a shell would have replaced. */
export function isUnexpanded(path: string): boolean {
  return /^\s*~|\$\{?\w/.test(path)
}

/** Variables that are probably misspellings of one of `names`, each with the name it was meant to be. */
export function findMisspelled(
  actual: string[],
  names: string[],
): { name: string; meant: string }[] {
  return actual.flatMap((name) => {
    if (names.includes(name.replace(/_FILE$/, '')) || names.includes(name)) return []
    const plain = name
      .toUpperCase()
      .replaceAll('-', '_')
      .replace(/^HOMEPORT_/, '')
    const meant = names.find((known) => {
      const allowed = allowedTypos(known)
      // The comparison of lengths spares most others.
      return Math.abs(known.length - plain.length) <= allowed && distance(known, plain) <= allowed
    })
    return meant === undefined ? [] : [{ name, meant }]
  })
}

/** Short names are close to too many others. */
function allowedTypos({ length }: string): number {
  return length < 8 ? 0 : length < 12 ? 2 : 3
}
