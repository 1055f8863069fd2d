import { signal } from '@preact/signals'
import { ROLES } from '../lib/roles.ts'
import { encodeSegment } from '../lib/text/path-segment.ts'
import type { describeActions } from '../platform/actions/console-routes.ts'
import type { Calls } from '../server/declarations.ts'
import { download, type Json, send, sendWithProgress } from './api.ts'
import { me } from './operator.ts'
import type { Schema } from './ui/schema-fields.tsx'

type ActionDescription = ReturnType<typeof describeActions>[string]

/** What the server declares: its actions by path, and labels of the entries in the audit log. */
export type Declarations = {
  actions: Record<string, Omit<ActionDescription, 'input'> & { input: Schema }>
  labels: Record<string, string>
  /** The program name in command lines, such as `hp`. */
  program: string
  publicUrl: string
}

export const declarations = signal<Declarations>({
  actions: {},
  labels: {},
  program: 'homeport',
  publicUrl: '',
})

/** Formats a command to run on the server. */
export function commandLine(args: string): string {
  return `${declarations.value.program} ${args}`
}

/** A URL that other servers can reach. */
export function publicUrl(path: string): string {
  return declarations.value.publicUrl + path
}

export type CallPath = keyof Calls
export type InputOf<Path extends CallPath> = Calls[Path]['input']
export type ReplyTo<Path extends CallPath> = Json<Calls[Path]['reply']>

type ProgressOptions = { onProgress: (progress: never) => void; signal?: AbortSignal }

/** Calls an action. Path parameters are taken from the input. */
export function perform<Path extends CallPath>(
  path: Path,
  input: InputOf<Path>,
  progress?: ProgressOptions,
): Promise<ReplyTo<Path>> {
  const body: Record<string, unknown> = { ...input }
  const resolvedPath = path.replaceAll(/:(\w+)/g, (_, name) => {
    const segment = encodeSegment(String(body[name]))
    delete body[name]
    return segment
  })
  if (progress) return sendWithProgress(resolvedPath, body, progress.onProgress, progress.signal)
  return declarations.value.actions[path]?.isFile
    ? (download(resolvedPath) as Promise<ReplyTo<Path>>)
    : send(resolvedPath, body)
}

/** Whether the operator's role allows an action; the server enforces this too. */
export function mayPerform(path: CallPath): boolean {
  const needed = declarations.value.actions[path]?.role
  return needed !== undefined && ROLES.indexOf(needed) <= ROLES.indexOf(me.value?.role ?? 'reader')
}
