import type { Command as Commander } from 'commander'
import type { Config } from '../config/config.ts'
import {
  type AuditEntry,
  type DataCommand,
  EXIT,
  type NamedCommand,
  type Options,
} from '../lib/command.ts'
import { userName } from '../lib/text/user-name.ts'
import type { Services } from '../server/services.ts'
import { writeOutcome } from './terminal.ts'

/** A command that always runs in this process, and returns its exit code. */
export type LocalCommand = NamedCommand & {
  run: (
    loadConfig: () => Config,
    options: Options,
    args: string[],
    program: Commander,
  ) => Promise<number>
}

export type ServiceCommand = DataCommand<Services>
export type Command = ServiceCommand | LocalCommand

/** A command of this process that reports one outcome; `--json` prints the outcome itself. Exit 1 if it has a problem. */
export function localCommand<Outcome>({
  work,
  print,
  findProblem,
  ...command
}: NamedCommand & {
  work: (...context: Parameters<LocalCommand['run']>) => Promise<Outcome>
  print: (outcome: Outcome) => string
  findProblem?: (outcome: Outcome) => string | null
}): LocalCommand {
  return {
    ...command,
    run: async (...context) => {
      const outcome = await work(...context)
      const [, { json }] = context
      writeOutcome(json, outcome, print(outcome))
      const problem = findProblem?.(outcome) ?? null
      if (problem === null) return EXIT.done
      console.error(problem)
      return EXIT.failed
    },
  }
}

/** Executes a command, and records its changes in the log and the audit log under the name `user`. */
export async function executeCommand(
  command: ServiceCommand,
  services: Services,
  input: unknown,
  user: string,
): Promise<unknown> {
  const record = async (entry: AuditEntry) => {
    const { target, after } = entry
    services.log.info({ command: command.name, target, ...after }, 'operator change')
    await services.operators.audit.record({ operator: null, origin: user, ...entry })
  }
  return (await command.work(services, input, { user, record })) ?? null
}

export async function performSteps<Input, Outcome, Result>(
  steps: AsyncGenerator<Input, Result, Outcome>,
  perform: (input: Input) => Promise<Outcome>,
): Promise<Result> {
  try {
    let step = await steps.next()
    while (!step.done) step = await steps.next(await perform(step.value))
    return step.value
  } finally {
    // Closes its files if a step failed.
    await steps.return(undefined as never)
  }
}

/** The operating system user: its name, or its id if it has no name. */
export function currentUser(): string {
  const uid = process.getuid?.()
  return uid === undefined ? 'unknown' : userName(uid)
}
