import { resolve } from 'node:path'
import { baseUrl, hasNoSpaces, list, parseChoice, wholeNumber } from './values.ts'

/** `expected`: what an error says after "must be". `parse` returns undefined for invalid text. */
type Kind<T> = {
  expected: string
  parse: (text: string) => T | undefined
  /** The value when the setting is unset. */
  fallback: T
  /** A path has no `…_FILE`, and no `~` that only a shell replaces. */
  isPath?: boolean
  /** Kubernetes sets `<SERVICE>_PORT` in every container. */
  isPort?: boolean
}

type Options = {
  /** The default in the reference, where it is computed or is not a value; "none" if there is none. */
  shown?: string
  /** The documentation page with details, such as `sign-in.md#nonces`. */
  page?: string
  /** Earlier names, which are read too. */
  aliases?: string[]
  /** For tests: left out of the reference; the start warns with the meaning when it is set. */
  isInternal?: boolean
}

/** A setting: the environment variable `name`, and what it is for. */
export type Setting<T> = Options & { name: string; kind: Kind<T>; meaning: string }
export type Settings = Record<string, Setting<unknown>>
export type ValuesOf<Group> = {
  [Name in keyof Group]: Group[Name] extends Setting<infer T> ? T : never
}

export function setting<T>(
  name: string,
  kind: Kind<T>,
  meaning: string,
  options: Options = {},
): Setting<T> {
  return { ...options, name, kind, meaning }
}

/** The URL of another API than the provider's, for tests. */
export function testUrl(name: string, meaning: string) {
  return setting(name, value('a URL', baseUrl), meaning, { isInternal: true })
}

/** Text that `parse` accepts, or else the fallback, which is null by default. */
export function value<T>(expected: string, parse: (text: string) => T | undefined): Kind<T | null>
export function value<T>(
  expected: string,
  parse: (text: string) => T | undefined,
  fallback: NoInfer<T>,
): Kind<T>
export function value<T>(
  expected: string,
  parse: (text: string) => T | undefined,
  fallback: T | null = null,
): Kind<T | null> {
  return { expected, parse, fallback }
}

/** Text that a pattern matches; any text without one. */
export function text(expected: string, pattern = /^/): Kind<string | null> {
  return value(expected, (given) => (pattern.test(given) ? given : undefined))
}

/** Values separated by commas, all of which must be valid. */
export function listKind(expected: string, isValid: (part: string) => boolean): Kind<string[]> {
  return value(`${expected}, separated by commas`, (given) => list(given, isValid), [])
}

/** A secret, or two separated by a comma while it is replaced. */
export function rotatingSecret(expected: string): Kind<string[]> {
  const parse = (given: string) => {
    const secrets = list(given, hasNoSpaces)
    return secrets && secrets.length <= 2 ? secrets : undefined
  }
  return value(`${expected}, or two as "a,b"`, parse, [])
}

export function choice<const T extends string>(choices: readonly T[]): Kind<T | null>
export function choice<const T extends string>(choices: readonly T[], fallback: NoInfer<T>): Kind<T>
export function choice<const T extends string>(
  choices: readonly T[],
  fallback: T | null = null,
): Kind<T | null> {
  const expected = choices.length === 2 ? choices.join(' or ') : `one of ${choices.join(', ')}`
  return { ...value(expected, (given) => parseChoice(choices, given)), fallback }
}

export function flag(fallback: boolean): Kind<boolean> {
  const onOff = choice(['on', 'off'])
  const parse = (given: string) => (onOff.parse(given) ? given === 'on' : undefined)
  return value(onOff.expected, parse, fallback)
}

export function integer(min: number, max: number, fallback: number): Kind<number> {
  return inRange(`a number from ${min} to ${max}`, min, max, fallback)
}

export function amount(unit: 'bytes' | 'files', fallback: number, min = 0): Kind<number> {
  const expected = `a number of ${unit}${min === 0 ? '' : ` from ${min}`}`
  return inRange(expected, min, Number.MAX_SAFE_INTEGER, fallback)
}

export const port: Kind<number | null> = {
  ...inRange<number | null>('a port from 0 to 65535', 0, 65_535, null),
  isPort: true,
}

export const path: Kind<string | null> = {
  ...value('a path', (given) => resolve(given)),
  isPath: true,
}

function inRange<T extends number | null>(
  expected: string,
  min: number,
  max: number,
  fallback: T,
): Kind<T | number> {
  const parse = (given: string) => {
    const number = wholeNumber(given, max)
    return number !== undefined && number >= min ? number : undefined
  }
  return { expected, parse, fallback }
}
