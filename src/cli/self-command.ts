import { join } from 'node:path'

/** The command line that starts this program again, as the executable or from source. */
export function programCommand(...args: string[]): string[] {
  const main = join(import.meta.dir, '..', 'main.ts')
  const program = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, main]
  return [...program, ...args]
}
