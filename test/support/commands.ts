import { resolveAliases } from '../../src/cli/aliases.ts'
import { executeCommand, performSteps } from '../../src/cli/command.ts'
import { dataCommands } from '../../src/cli/data-commands.ts'
import type { Options } from '../../src/lib/command.ts'
import type { TestApp } from './app.ts'

/** The local user who runs commands in tests. */
export const LOCAL_USER = 'root'

/** Runs a command as if typed in a shell. Returns its outcome, its text output and whether it exits with 1. */
export async function runCommand(
  { services }: TestApp,
  name: string,
  args: string[] = [],
  options: Options = {},
) {
  const words = resolveAliases(name.split(' ')).join(' ')
  const command = dataCommands.find((candidate) => candidate.name === words)
  if (!command) throw new Error(`there is no command ${name}`)
  // Input and outcome are sent over a socket as JSON.
  const perform = async (input: unknown) =>
    throughJson(await executeCommand(command, services, throughJson(input), LOCAL_USER))
  const outcome = command.steps
    ? await performSteps(
        command.steps(args, options, () => {}),
        perform,
      )
    : await perform(await command.input?.(args, options))
  const printed = command.print(outcome)
  const isFailure = command.isFailure?.(outcome) ?? false
  // biome-ignore lint/suspicious/noExplicitAny: commands have outcomes of every shape
  return { outcome: outcome as any, printed, isFailure }
}

function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null))
}
