import { executeCommand } from '../../src/cli/command.ts'
import { dataCommands } from '../../src/cli/data-commands.ts'
import type { Options } from '../../src/lib/command.ts'
import type { TestApp } from './app.ts'

/** Who types commands in tests. */
export const LOCAL_USER = 'root'

/** Carries a command out as it is typed. Returns its outcome, and what is printed for people. */
export async function typeCommand(
  { services }: TestApp,
  name: string,
  args: string[] = [],
  options: Options = {},
) {
  const command = dataCommands.find((one) => one.name === name)
  if (!command) throw new Error(`there is no command ${name}`)
  const input = (await command.input?.(args, options)) ?? null
  // What was typed goes over a socket as JSON.
  const outcome = await executeCommand(command, services, overTheWire(input), LOCAL_USER)
  const printed = command.print(overTheWire(outcome))
  // biome-ignore lint/suspicious/noExplicitAny: commands have outcomes of every shape
  return { outcome: overTheWire(outcome) as any, printed }
}

function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null))
}
