import type { Config } from '../config.ts'
import type { Services } from '../services.ts'

export type Options = Record<string, string | boolean | undefined>

type Named = {
  /** One or two words: `serve`, `settings get`. */
  name: string
  summary: string
  /** As commander writes them: `<file>`, `[key...]`. */
  arguments?: string
  /** Flags and what they mean. */
  options?: [flags: string, meaning: string][]
}

/** Carried out by the process that holds the data: the running server, else this one. */
export type DataCommand = Named & {
  /** Reads what was typed, where it was typed (files, the clock of the terminal); plain JSON. */
  input?: (args: string[], options: Options) => unknown
  work: (services: Services, input: never) => Promise<unknown>
  /** The outcome for people; with `--json` it is printed as it is. */
  print: (outcome: never) => string
}

/** Carried out right here. Answers the exit code. */
export type LocalCommand = Named & {
  run: (config: () => Config, options: Options) => Promise<number>
}

/** Keeps the types of `input`, `work` and `print` in step and forgets them for the table. */
export function dataCommand<Input, Outcome>(
  command: Named & {
    input?: (args: string[], options: Options) => Input | Promise<Input>
    work: (services: Services, input: Input) => Promise<Outcome>
    print: (outcome: Outcome) => string
  },
): DataCommand {
  return command as DataCommand
}

/** A command was typed wrongly: exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const EXIT = { done: 0, failed: 1, usage: 2, configuration: 78 } as const
