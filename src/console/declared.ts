import { signal } from '@preact/signals'
import { ROLES } from '../lib/roles.ts'
import { encodeSegment } from '../lib/text/path-segment.ts'
import type { describeActions } from '../platform/actions/console-routes.ts'
import type { Calls } from '../server/declarations.ts'
import { download, type Json, send, sendWithProgress } from './api.ts'
import { me } from './operator.ts'
import type { Schema } from './ui/schema-fields.tsx'

type Described = ReturnType<typeof describeActions>[string]

/** What the server declares: its actions by path, and labels of the entries in the audit log. */
export type Declarations = {
  actions: Record<string, Omit<Described, 'input'> & { input: Schema }>
  labels: Record<string, string>
  /** How commands are typed on the server. */
  program: string
  publicUrl: string
}

export const declarations = signal<Declarations>({
  actions: {},
  labels: {},
  program: 'homeport',
  publicUrl: '',
})

/** A command line for the server. */
export function commandLine(words: string): string {
  return `${declarations.value.program} ${words}`
}

/** An address that other servers can reach. */
export function publicAddress(path: string): string {
  return declarations.value.publicUrl + path
}

export type CallPath = keyof Calls
export type InputOf<Path extends CallPath> = Calls[Path]['input']
export type ReplyTo<Path extends CallPath> = Json<Calls[Path]['reply']>

type Progress = { onProgress: (progress: never) => void; signal?: AbortSignal }

/** Calls an action. Members in its path are taken from the input. */
export function perform<Path extends CallPath>(
  path: Path,
  input: InputOf<Path>,
  progress?: Progress,
): Promise<ReplyTo<Path>> {
  const body: Record<string, unknown> = { ...input }
  const address = path.replaceAll(/:(\w+)/g, (_, name) => {
    const segment = encodeSegment(String(body[name]))
    delete body[name]
    return segment
  })
  if (progress) return sendWithProgress(address, body, progress.onProgress, progress.signal)
  return declarations.value.actions[path]?.isFile
    ? (download(address) as Promise<ReplyTo<Path>>)
    : send(address, body)
}

/** Whether the operator's role allows an action; the server enforces this too. */
export function mayPerform(path: CallPath): boolean {
  const least = declarations.value.actions[path]?.role
  return least !== undefined && ROLES.indexOf(least) <= ROLES.indexOf(me.value?.role ?? 'reader')
}
