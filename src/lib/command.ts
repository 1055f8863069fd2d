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
  /** What would be lost for good, as a sentence that is confirmed before the work; null for nothing. */
  risk?: (services: Services, input: never) => Promise<string | null>
  /** The outcome for people; with `--json` it is printed as it is. */
  print: (outcome: never) => string
  /** What an operator has changed, for the log and the audit log. */
  changes?: (outcome: never, input: never) => Record<string, unknown>
  /** What of it was there before. */
  before?: (services: Services, input: never) => Promise<Record<string, unknown> | null>
  /** What it was done to: an id or a name. */
  target?: (outcome: never, input: never) => string
  /** Whether the outcome is bad news: exit 1. */
  isBad?: (outcome: never) => boolean
}

/** Keeps the types of `input`, `work` and `print` in step and forgets them for the table. */
export function dataCommand<Services, Input, Outcome>(
  command: NamedCommand & {
    input?: (args: string[], options: Options) => Input | Promise<Input>
    work: (services: Services, input: Input) => Promise<Outcome>
    risk?: (services: Services, input: Input) => Promise<string | null>
    print: (outcome: Outcome) => string
    changes?: (outcome: Outcome, input: Input) => Record<string, unknown>
    before?: (services: Services, input: Input) => Promise<Record<string, unknown> | null>
    target?: (outcome: Outcome, input: Input) => string
    isBad?: (outcome: Outcome) => boolean
  },
): DataCommand<Services> {
  return command as DataCommand<Services>
}

/** A command was typed wrongly: exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
