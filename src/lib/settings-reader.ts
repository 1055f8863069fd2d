import { resolve } from 'node:path'
import { distance } from 'fastest-levenshtein'
import { list, oneOf, wholeNumber } from './setting-values.ts'

export const NETWORKS = 'addresses or networks, separated by commas'

export type SettingsReader = ReturnType<typeof createSettingsReader>

/** Reads environment variables and collects every fault. A fault names the variable and never its value. */
export function createSettingsReader(env: (name: string) => string | undefined) {
  const faults: string[] = []
  const names: string[] = []
  return { env, read, optional, path, all, choice, isOn, integer, count, port, faults, names }

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
    return optional(name, 'a path', (text) => resolve(text))
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
    return inRange(name, fallback, 'a port from 0 to 65535', 0, 65_535)
  }

  function inRange<T>(name: string, fallback: T, expected: string, min: number, max: number) {
    return read<T | number>(name, fallback, expected, (text) => {
      const value = wholeNumber(text, max)
      return value !== undefined && value >= min ? value : undefined
    })
  }
}

/** Variables that are probably misspellings of one of `names`, each with the name it was meant to be. */
export function misspelledIn(actual: string[], names: string[]): { name: string; meant: string }[] {
  return actual.flatMap((name) => {
    if (names.includes(name)) return []
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
