import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

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

const LINE = /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=(.*)$/gm
const QUOTED_VALUE = /^[ \t]*(["'`]).*?(?<!\\)\1/
const REFERENCE = /(?<!\\)\$(?:\{(\w+)\}|(\w+))/g

/**
 * The variables of a `.env` file in which Bun has replaced `$name` with nothing, because `environment` has no `name`. A
 * variable whose value still has the text was set by something else.
 */
export function incompleteVariables(
  text: string,
  environment: Record<string, string | undefined>,
): string[] {
  // The last line of a name counts.
  const values = variablesIn(text)
  const isLost = (name: string, value: string) =>
    [...withoutComment(value).matchAll(REFERENCE)].some(
      ([reference, braced, plain]) =>
        environment[braced ?? plain ?? ''] === undefined && !environment[name]?.includes(reference),
    )
  return [...values].filter(([name, value]) => isLost(name, value)).map(([name]) => name)
}

/** The variables of a `.env` file whose value Bun has cut off at a `#`, which it takes for a comment even after text. */
export function cutVariables(
  text: string,
  environment: Record<string, string | undefined>,
): string[] {
  const isCut = (name: string, value: string) => {
    const [, kept] = /^((?:[^#]*[^#\s])?)#/.exec(value) ?? []
    const loaded = environment[name]
    if (QUOTED_VALUE.test(value) || kept === undefined || loaded === undefined) return false
    // With a reference, we do not know what it would have been.
    if (kept.match(REFERENCE)) return !loaded.includes('#')
    return loaded === kept.trim().replaceAll('\\$', '$')
  }
  return [...variablesIn(text)].filter(([name, value]) => isCut(name, value)).map(([name]) => name)
}

/** The values as they are written. */
function variablesIn(text: string): Map<string, string> {
  return new Map([...text.matchAll(LINE)].map(([, name = '', value = '']) => [name, value]))
}

function withoutComment(value: string): string {
  const [quoted] = QUOTED_VALUE.exec(value) ?? []
  return quoted ?? value.replace(/#.*/, '')
}

/** Bun has read `.env` before we start. It ignores one that it cannot read, and replaces unknown variables with nothing. */
export function faultsOfEnvFile(
  names: string[],
  environment: Record<string, string | undefined>,
): string[] {
  const path = resolve('.env')
  // In a folder that this user may not enter, we cannot know whether there is one.
  if (!existsSync(path)) return []
  try {
    const text = readFileSync(path, 'utf8')
    const ours = (found: string[]) => found.filter((name) => names.includes(name))
    return [
      ...ours(incompleteVariables(text, environment)).map(
        (name) =>
          `${name} in ${path} has a "$" before a name that is not a variable, so that part is lost: write "\\$"`,
      ),
      ...ours(cutVariables(text, environment)).map(
        (name) =>
          `${name} in ${path} has a "#", and what follows it is lost: put the value in quotes, or a space before a comment`,
      ),
    ]
  } catch {
    return [`${path} cannot be read: change its owner or its mode, or remove it.`]
  }
}
