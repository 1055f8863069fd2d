import { useEffect, useState } from 'preact/hooks'
import { applyDifferences, differencesBetween } from '../../lib/text/differences.ts'
import type { Publication } from '../../platform/publications/publications.ts'
import { ApiError, failure, read, send } from '../api.ts'
import { plural } from '../format.ts'
import { canEdit } from '../operator.ts'
import { Changes, type Choice } from '../ui/changes.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Action, Badge, Empty, Time } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import { merge } from './merge.ts'

export type History = { versions: Publication[]; next: number | null }

type HistoryProps = { kind: string; version: number; onChange: () => Promise<void> }

/** Every version with its author and changes. Undoing a version, or rolling back to one, publishes a new one. */
export function HistoryList({ kind, version, onChange }: HistoryProps) {
  const first = useRemote<History>(`${kind}/history`)
  const [more, setMore] = useState<History | null>(null)
  const publish = async (sendNew: () => Promise<unknown>) => {
    await sendNew().catch(async (refusal) => {
      if (!(refusal instanceof ApiError) || refusal.status !== 409) throw refusal
      await Promise.all([first.reload(), onChange()])
      throw failure('Someone published a new version. Check the history and try again.')
    })
    await first.reload()
    await onChange()
  }
  const shared = { kind, live: version, publish }
  return (
    <Loaded from={first}>
      {(data) => {
        const oldest = data.versions.at(-1)?.version ?? 0
        const older = more?.versions.filter((one) => one.version < oldest) ?? []
        const versions = [...data.versions, ...older]
        const next = more ? more.next : data.next
        const loadMore = async () => {
          const page = await read<History>(`${kind}/history?before=${next}`)
          // New versions may push others off the first page.
          setMore({ versions: [...versions, ...page.versions], next: page.next })
        }
        if (versions.length === 0) return <Empty>Nothing published yet.</Empty>
        return (
          <>
            <ol class="list">
              {versions.map((one) => (
                <li key={one.version}>
                  <strong>
                    Version {one.version}
                    {one.note && <>: {one.note}</>}
                  </strong>
                  {one.version === version && <Badge tone="good">live</Badge>}
                  <span class="soft">
                    {one.author ?? 'Command line'}, <Time at={one.publishedAt} />
                  </span>
                  <UndoneBy versions={versions} version={one.version} />
                  {canEdit.value && (
                    <span class="actions below">
                      {one.version > 1 && <UndoVersion {...shared} version={one.version} />}
                      {one.version !== version && <RollBack {...shared} version={one.version} />}
                    </span>
                  )}
                  {one.differences.length === 0 ? (
                    <span class="wide soft">No changes</span>
                  ) : (
                    <details open={one.differences.length < 8}>
                      <summary>{plural(one.differences.length, 'change')}</summary>
                      <Changes changes={one.differences} />
                    </details>
                  )}
                </li>
              ))}
            </ol>
            {next !== null && <Action run={loadMore}>Load more</Action>}
          </>
        )
      }}
    </Loaded>
  )
}

/** Names the later version that undid this one, which is recognized by its default note. */
function UndoneBy({ versions, version }: { versions: Publication[]; version: number }) {
  const undo = versions.find(({ note }) => note === undoNote(version))
  return undo ? <span class="soft">Undone by version {undo.version}</span> : null
}

function undoNote(version: number): string {
  return `Undo version ${version}`
}

type PastProps = {
  kind: string
  live: number
  version: number
  publish: (sendNew: () => Promise<unknown>) => Promise<void>
}

/** Reverses a version's changes, or a selection of them. */
function UndoVersion({ kind, live, version, publish }: PastProps) {
  const [note, setNote] = useState('')
  const [count, setCount] = useState(0)
  const [leftOut, setLeftOut] = useState<string[]>([])
  const readNew = () => readWithout(kind, live, version)
  const undo = async () => {
    const [current, without] = await Promise.all([readVersion(kind, live), readNew()])
    const content = applyDifferences(current, without, (path) => !leftOut.includes(path))
    const body = { base: live, note: note || undoNote(version), content }
    await publish(() => send(`${kind}/publish`, body))
    setNote('')
  }
  return (
    <Confirm
      label={`Undo version ${version}`}
      isReversible
      run={undo}
      done={`Undid version ${version}. Version ${live + 1} is live.`}
      isDisabled={count <= leftOut.length}
    >
      <PendingChanges
        kind={kind}
        live={live}
        id={`without/${version}`}
        readNew={readNew}
        onCount={setCount}
        choice={{ leftOut, onChange: setLeftOut }}
      />
      <NoteField note={note} onChange={setNote} />
    </Confirm>
  )
}

/** Publishes the content of an earlier version again. */
function RollBack({ kind, live, version, publish }: PastProps) {
  const [note, setNote] = useState('')
  const [count, setCount] = useState(0)
  const rollBack = async () => {
    await publish(() => send(`${kind}/rollback`, { base: live, note, version }))
    setNote('')
  }
  return (
    <Confirm
      label={`Roll back to version ${version}`}
      isReversible
      isDisabled={count === 0}
      run={rollBack}
      done={`Rolled back to version ${version}, now live as version ${live + 1}.`}
    >
      <PendingChanges
        kind={kind}
        live={live}
        id={`versions/${version}`}
        readNew={() => readVersion(kind, version)}
        onCount={setCount}
      />
      <NoteField note={note} onChange={setNote} />
    </Confirm>
  )
}

/** The live content with the changes of one version reversed. Keeps later changes of other fields. */
async function readWithout(kind: string, live: number, version: number): Promise<unknown> {
  const [before, after, current] = await Promise.all(
    [version - 1, version, live].map((one) => readVersion(kind, one)),
  )
  return merge(after, before, current)
}

function readVersion(kind: string, version: number): Promise<unknown> {
  return read<unknown>(`${kind}/versions/${version}`)
}

type PendingProps = {
  kind: string
  live: number
  id: string
  readNew: () => Promise<unknown>
  /** Receives the number of changes: 0 until they are known. */
  onCount: (count: number) => void
  /** Lets the operator leave changes out. */
  choice?: Choice
}

/** The changes that publishing the new content would make. */
function PendingChanges({ kind, live, id, readNew, onCount, choice }: PendingProps) {
  const contents = useRemote(`${kind}/${live}/${id}`, () =>
    Promise.all([readVersion(kind, live), readNew()]),
  )
  const count = contents.data ? differencesBetween(...contents.data).length : 0
  useEffect(() => onCount(count), [count])
  return (
    <Loaded from={contents}>
      {([before, after]) => {
        const changes = differencesBetween(before, after)
        if (changes.length === 0) return <p>No changes: this version is already live.</p>
        return (
          <>
            <p>Apps get these changes immediately. The current version stays in the history.</p>
            <Changes changes={changes} {...(choice && changes.length > 1 && { choice })} />
          </>
        )
      }}
    </Loaded>
  )
}

type NoteProps = { note: string; onChange: (note: string) => void }

export function NoteField({ note, onChange }: NoteProps) {
  const hint = 'Why you are publishing this. Shown in the history.'
  return <TextField label="Note" hint={hint} value={note} maxLength={500} onChange={onChange} />
}
