import { executeCommand } from '../../src/cli/command.ts'
import { dataCommands } from '../../src/cli/data-commands.ts'
import type { Options } from '../../src/lib/command.ts'
import type { TestApp } from './app.ts'

/** The local user who runs commands in tests. */
export const LOCAL_USER = 'root'

/** Runs a command as if typed in a shell. Returns its outcome and its text output. */
export async function typeCommand(
  { services }: TestApp,
  name: string,
  args: string[] = [],
  options: Options = {},
) {
  const command = dataCommands.find((candidate) => candidate.name === name)
  if (!command) throw new Error(`there is no command ${name}`)
  const input = (await command.input?.(args, options)) ?? null
  // Input and outcome are sent over a socket as JSON.
  const outcome = await executeCommand(command, services, throughJson(input), LOCAL_USER)
  const printed = command.print(throughJson(outcome))
  // biome-ignore lint/suspicious/noExplicitAny: commands have outcomes of every shape
  return { outcome: throughJson(outcome) as any, printed }
}

function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null))
}
