import { join } from 'node:path'

/** Runs a command of this program in a child process until it ends. */
export async function runProgram(args: string[], signal?: AbortSignal) {
  const child = Bun.spawn(programCommand(...args), {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    ...(signal ? { signal } : {}),
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { succeeded: (await child.exited) === 0, out, err: err.trim() }
}

/** The command line that starts this program, as the executable or from source. */
export function programCommand(...args: string[]): string[] {
  const main = join(import.meta.dir, '..', '..', 'main.ts')
  const program = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, main]
  return [...program, ...args]
}
