import { distance } from 'fastest-levenshtein'

export type SettingsReader = ReturnType<typeof createSettingsReader>['read']

/** Reads variables of `env` one by one and collects every fault: it names variables and never their values. */
export function createSettingsReader(env: Record<string, string | undefined>) {
  const faults: string[] = []
  const names: string[] = []
  return { read, faults, names }

  function read<T>(
    name: string,
    fallback: T,
    expected: string,
    parse: (text: string) => T | undefined,
  ): T {
    names.push(name)
    const text = env[name]
    if (text === undefined) return fallback
    const value = text.trim() === '' ? undefined : parse(text.trim())
    if (value !== undefined) return value
    faults.push(`${name} must be ${expected}${text.trim() === '' ? ', it is empty' : ''}`)
    return fallback
  }
}

/** Variables that are probably meant to be one of `names`, and which. */
export function misspelledIn(given: string[], names: string[]): { name: string; meant: string }[] {
  return given.flatMap((name) => {
    if (names.includes(name)) return []
    const plain = name
      .toUpperCase()
      .replaceAll('-', '_')
      .replace(/^HOMEPORT_/, '')
    const meant = names.find((one) => distance(one, plain) <= allowed(one))
    return meant === undefined ? [] : [{ name, meant }]
  })
}

/** How many characters of a name may be wrong: short ones are near to too many others. */
function allowed({ length }: string): number {
  return length < 8 ? 0 : length < 12 ? 2 : 3
}
