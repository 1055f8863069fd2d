export type Options = Record<string, string | boolean | undefined>

export type NamedCommand = {
  /** One or two words: `serve`, `settings get`. */
  name: string
  summary: string
  /** As commander writes them: `<file>`, `[key...]`. */
  arguments?: string
  /** Flags and what they mean. */
  options?: [flags: string, meaning: string][]
}

/** Carried out by the process that holds the data: the running server, else this one. */
export type DataCommand<Services> = NamedCommand & {
  /** Reads what was typed, where it was typed (files, the clock of the terminal); plain JSON. */
  input?: (args: string[], options: Options) => unknown
  work: (services: Services, input: never) => Promise<unknown>
  /** The outcome for people; with `--json` it is printed as it is. */
  print: (outcome: never) => string
}

/** Keeps the types of `input`, `work` and `print` in step and forgets them for the table. */
export function dataCommand<Services, Input, Outcome>(
  command: NamedCommand & {
    input?: (args: string[], options: Options) => Input | Promise<Input>
    work: (services: Services, input: Input) => Promise<Outcome>
    print: (outcome: Outcome) => string
  },
): DataCommand<Services> {
  return command as DataCommand<Services>
}

/** A command was typed wrongly: exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
