import { existsSync, readFileSync } from 'node:fs'

/** A name, then quoted parts, then the rest of the line verbatim. */
const ASSIGNMENT =
  /^[ \t]*([A-Za-z_]\w*)[ \t]*=((?:[ \t]*(?:'[^']*'|"(?:\\[\s\S]|[^"\\])*"))*)[ \t]*((?:\\[\s\S]|[^\\\n])*)$/gm
const QUOTED = /'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"/g

/** The variables of a file as systemd reads it for `EnvironmentFile=`: unlike in a shell, `#` within a line is text. */
export function parseEnvironmentFile(text: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [, name = '', quoted = '', rest = ''] of text.matchAll(ASSIGNMENT)) {
    let value = ''
    for (const [, single, double = ''] of quoted.matchAll(QUOTED))
      value += single ?? double.replaceAll(/\\(?:\n|([$"\\`]))/g, '$1')
    found[name] = value + rest.trimEnd().replaceAll(/\\(?:\n|([\s\S]))/g, '$1')
  }
  return found
}

/** The variables that a `.env` file sets, and its faults with the name of the variable. */
export type DotEnv = {
  path: string | null
  variables: Record<string, string>
  faults: { name: string | null; message: string }[]
}

export const NO_DOT_ENV: DotEnv = { path: null, variables: {}, faults: [] }

/** A name, then a quoted part, or else the rest of the line. */
const LINE =
  /^[ \t\uFEFF]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=(?:[ \t]*(?:"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|`([^`]*)`)|(.*))/gm
const REFERENCE = /\\\$|\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))/g

/**
 * The variables of a `.env` file that `environment` lacks. `$name` is expanded. A `#` after a space begins a comment;
 * any other unquoted `#` is an error, because programs disagree.
 */
export function parseDotEnv(text: string, environment: Record<string, string | undefined>) {
  const variables: Record<string, string> = {}
  const problems = new Map<string, string>()
  for (const [, name = '', double, single, back, plain = ''] of text.matchAll(LINE)) {
    problems.delete(name)
    const withLines = double?.replaceAll('\\n', '\n').replaceAll('\\r', '\r')
    const [, bare = ''] = /^(.*?)(?:\s#.*)?$/.exec(plain.trimEnd()) ?? []
    const value = withLines ?? single ?? back ?? bare.trim()
    if (bare.includes('#'))
      problems.set(name, 'has a "#": put the value in quotes, or a space before a comment')
    variables[name] = value.replaceAll(REFERENCE, (reference, braced, fallback, short) => {
      const known = environment[braced ?? short] ?? variables[braced ?? short] ?? fallback
      if (reference === '\\$') return '$'
      if (known === undefined)
        problems.set(name, 'has a "$" before a name that is not a variable: write "\\$"')
      return known ?? ''
    })
  }
  return {
    variables,
    faults: [...problems]
      .filter(([name]) => environment[name] === undefined)
      .map(([name, message]) => ({ name, message })),
  }
}

/** The `.env` file at `path`; treated as missing in a folder that this user may not enter. */
export function loadDotEnv(path: string, environment: Record<string, string | undefined>): DotEnv {
  if (!existsSync(path)) return NO_DOT_ENV
  try {
    return { path, ...parseDotEnv(readFileSync(path, 'utf8'), environment) }
  } catch {
    const message = 'cannot be read: change its owner or its mode, or remove it.'
    return { path, variables: {}, faults: [{ name: null, message }] }
  }
}
