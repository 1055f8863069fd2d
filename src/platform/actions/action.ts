import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { AuditDetails, AuditEntry, OnProgress, Options } from '../../lib/command.ts'
import type { Role } from '../../lib/roles.ts'
import type { Scope } from '../../lib/scopes.ts'

/**
 * A change that operators can make. Its command, routes and audit entry derive from it. `Needs`: the services it uses.
 */
type Action<
  Needs,
  Input extends TObject,
  Outcome,
  Report = Outcome,
  Path extends string | null = string | null,
  Shown = unknown,
> = {
  /** Such as `webhooks.rotate`: the name in the audit log and, with a space for the dot, the command. */
  name: string
  summary: string
  /** For the audit log; the target follows. */
  label: string
  /** The lowest role that may perform it in the console; `stepUp` also requires a recent proof. */
  role: Role
  proof?: 'stepUp'
  /** All parameters: one flat, closed object, which every caller's input must match. */
  input: Input
  /** The path of its POST route below the console's API; null if the console does not offer it. */
  console: Path
  /** The texts of its button in the console. */
  form?: ActionForm
  command: CommandForm<Needs, Static<Input>, Outcome, Report> | null
  server?: ServerForm<Static<Input>, Outcome>
  /** The console downloads the outcome as a file with this name, by GET. */
  fileName?(outcome: Outcome): string
  /** The console's response streams the progress. */
  hasProgress?: boolean
  /** The maximum size of the console's request, in bytes. */
  bodyLimit?: number
  work(needs: Needs, input: Static<Input>, context: ActionContext): Promise<Outcome>
  /** The audit entry; null if nothing was changed. */
  audit(outcome: Outcome, input: Static<Input>): AuditDetails | null
  /** The response to the console; the outcome by default. */
  show?(outcome: Outcome, needs: Needs): Shown
}

/** The texts of an action in the console. The target follows `verb` and `done`. */
type ActionForm = {
  verb: string
  /** What the operator must confirm first. */
  consequence?: string
  /** The label by default. */
  done?: string
  /** It can be undone, so its button is not red. */
  isReversible?: true
}

export type CommandForm<Needs, Input, Outcome, Report> = {
  /** The command's words, if they differ from the name. */
  words?: string
  /** The positional arguments in order, each with its form in the help: `{ id: '<id>' }`. Other members are options. */
  arguments?: Partial<Record<Extract<keyof Input, string> | 'file', string>>
  /** For a command whose options differ from the members, in the format of `DataCommand`. */
  options?: [flags: string, meaning: string, kind?: 'list'][]
  read?(args: string[], options: Options): Input | Promise<Input>
  steps?(
    args: string[],
    options: Options,
    onProgress: OnProgress,
  ): AsyncGenerator<Input, Report, Outcome>
  /** A warning about permanent data loss; null if there is none. */
  risk?(needs: Needs, input: Input): Promise<string | null>
  /** What `--json` prints and `print` receives; the outcome by default. */
  report?(outcome: Outcome, needs: Needs): Report | Promise<Report>
  print(report: Report): string
  /** If true, the command exits with 1. */
  isFailure?(report: Report): boolean
}

type ServerForm<Input, Outcome> = {
  method: 'post' | 'put' | 'patch' | 'delete'
  /** The path below the prefix of the server API. */
  path: string
  scope: Scope
  operationId: string
  tag: string
  summary?: string
  description: string
  params?: TObject
  query?: TObject
  body?: TObject
  reply: TSchema
  /** Statuses that only this route returns. */
  failures: number[]
  /** For an input that is not just the parameters and the body. */
  read?(sent: Record<string, unknown>): Input
  /** The data of the response; by default that of the action's `show`. */
  show?(outcome: Outcome): unknown
  /** The whole response, if it is more than data. */
  toReply?(outcome: Outcome): unknown
}

/** Who performs an action: an operator's name, an API key's, or the machine's user. */
export type Caller = { name: string; via: 'console' | 'command' | 'server' }

export type ActionContext = {
  caller: Caller
  /** Aborts work with progress when the operator leaves. */
  signal: AbortSignal
  onProgress: (progress: unknown) => void
  /** The base of file URLs; empty for a command. */
  baseUrl: string
}

export type AnyAction = Action<never, TObject, unknown, unknown>

/** The input and the reply of each of the console's calls, by path. */
export type ConsoleCalls<Declared> = {
  [One in Declared as PathOf<One>]: One extends Action<
    infer _Needs,
    infer Input,
    infer Outcome,
    infer _Report,
    string,
    infer Shown
  >
    ? { input: Static<Input>; reply: unknown extends Shown ? Outcome : Awaited<Shown> }
    : never
}
type PathOf<One> = One extends { console: infer Path extends string } ? Path : never

/** Checks the types of an action's parts before they are erased in lists. */
export function defineAction<
  Needs,
  Input extends TObject,
  Outcome,
  const Path extends string | null,
  Report = Outcome,
  Shown = unknown,
>(
  action: Action<Needs, Input, Outcome, Report, Path, Shown>,
): Action<Needs, Input, Outcome, Report, Path, Shown> {
  return action
}

/** Without a `signal` it is never aborted. */
export async function performAction(
  action: AnyAction,
  services: object,
  input: Record<string, unknown>,
  context: Pick<ActionContext, 'caller'> & Partial<ActionContext>,
  record: (entry: AuditEntry) => Promise<void>,
): Promise<unknown> {
  const defaults = { signal: new AbortController().signal, onProgress: () => {}, baseUrl: '' }
  const outcome = await action.work(services as never, input, { ...defaults, ...context })
  const entry = action.audit(outcome, input)
  if (entry !== null) await record({ action: action.name, ...entry })
  return outcome
}

/** The author shown in histories; null for commands. */
export function findAuthor({ name, via }: Caller): string | null {
  return via === 'command' ? null : name
}
