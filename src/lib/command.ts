import { resolve } from 'node:path'
import { findFileOwner, userName } from './text/user-name.ts'
import { DAY_MS } from './time/durations.ts'
import { parseTime } from './time/parse-time.ts'

export type Options = Record<string, string | boolean | undefined>

export type NamedCommand = {
  /** One or two words: `serve`, `settings get`. */
  name: string
  summary: string
  /** In commander's notation: `<file>`, `[key...]`. */
  arguments?: string
  /** Flags and their descriptions. The parts of a `list` may also be given by repeating its flag. */
  options?: [flags: string, meaning: string, kind?: 'list'][]
}

/** The operating system user who runs a command, and how it records its changes in the audit log. */
type CommandContext = {
  user: string
  record: (entry: AuditEntry) => Promise<void>
}

export type AuditDetails = {
  /** An id or a name. */
  target?: string
  before?: Record<string, unknown>
  after?: Record<string, unknown>
  /** Public content is not masked. */
  isPublic?: boolean
}

export type AuditEntry = AuditDetails & { action: string }

export type OnProgress = (step: string, done: number, total: number) => void

/** Runs in the process that has the data open: the running server, or else this one. */
export type DataCommand<
  Services,
  Input = unknown,
  Outcome = unknown,
  Result = Outcome,
> = NamedCommand & {
  /** Parses the arguments in the terminal's process, which can read files; returns plain JSON. */
  input?(args: string[], options: Options): Input | Promise<Input>
  /** Replaces `input` for work too large for one message: yields inputs, receives outcomes, returns the result. */
  steps?(
    args: string[],
    options: Options,
    onProgress: OnProgress,
  ): AsyncGenerator<Input, Result, Outcome>
  work(services: Services, input: Input, context: CommandContext): Promise<Outcome>
  /** A warning about permanent data loss; null if there is none. */
  risk?(services: Services, input: Input): Promise<string | null>
  /** Formats the outcome; `--json` prints the outcome itself. */
  print(outcome: Result): string
  /** If true, the command exits with 1. */
  isFailure?(outcome: Result): boolean
}

/** Checks that the types of a command's parts match, before they are erased in the list of commands. */
export function dataCommand<Services, Input, Outcome, Result = Outcome>(
  command: DataCommand<Services, Input, Outcome, Result>,
): DataCommand<Services> {
  return command
}

export const EXIT = { done: 0, failed: 1, usage: 2, configuration: 78 } as const

/** A command cannot be carried out; the message says why and what to do: exit 1. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError'
}

/** The command line is wrong: exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Throws `UsageError` for anything but 1 to 999999. */
export function parseLimitOption(text: string, option = '--limit'): number {
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new UsageError(`${option} must be a number from 1 to 999999.`)
  return Number(text)
}

/**
 * The value of an option: a date and a time, or a date, which means midnight UTC. A date in `--until` is the last day.
 * Throws `UsageError`.
 */
export function parseTimeOption(text: string, option: string): Date {
  const time = parseTime(text)
  if (time === null) {
    throw new UsageError(
      `${option} must be a time in ISO 8601, such as 2027-04-03 or 2027-04-03T18:00:00Z.`,
    )
  }
  const isLastDay = option === '--until' && /^\S{10}$/.test(text)
  return isLastDay ? new Date(time.getTime() + DAY_MS) : time
}

/** The parts of an option such as `--scope a,b`; empty if it is absent. */
export function parseListOption(option: string | boolean | undefined): string[] {
  return typeof option === 'string' ? option.split(',').map((part) => part.trim()) : []
}

/** Says whose file it is if this user may not read it. */
export function describeUnreadable(path: string, error: unknown): string {
  const owner = (error as { code?: string }).code === 'EACCES' ? findFileOwner(resolve(path)) : null
  return owner === null
    ? `${path} cannot be read.`
    : `${path} cannot be read: it, or its folder, belongs to ${userName(owner)}, and this runs as ${userName(process.getuid?.() ?? 0)}.`
}

/** The JSON of a file named on the command line; `-` is standard input. */
export async function readJsonFile(path: string | undefined): Promise<unknown> {
  if (path === undefined) throw new UsageError('Specify the file to read.')
  const file = path === '-' ? Bun.stdin : Bun.file(path)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await file.bytes())
  } catch (error) {
    throw new UsageError(
      error instanceof TypeError
        ? `${path} is not UTF-8: save it in that encoding.`
        : describeUnreadable(path, error),
    )
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${path} is not valid JSON: ${(error as Error).message}`)
  }
}

/** Indented JSON, as `export` prints it for editing. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** `--created-from` for `createdFrom`. */
export function toFlag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
