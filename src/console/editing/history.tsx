import { useState } from 'preact/hooks'
import { differencesBetween } from '../../lib/differences.ts'
import type { Publication } from '../../platform/publications/publications.ts'
import { read, send } from '../api.ts'
import { plural } from '../format.ts'
import { canEdit } from '../operator.ts'
import { Changes } from '../ui/changes.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Action, Badge, Empty, Time } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

export type History = { versions: Publication[]; next: number | null }

type HistoryProps = { kind: string; version: number; onChange: () => Promise<void> }

/** Every version with its author and changes. A rollback publishes an old version as a new one. */
export function HistoryList({ kind, version, onChange }: HistoryProps) {
  const first = useRemote<History>(`${kind}/history`)
  const [more, setMore] = useState<History | null>(null)
  const [note, setNote] = useState('')
  const rollBack = async (to: number) => {
    await send(`${kind}/rollback`, { base: version, note, version: to })
    setNote('')
    setMore(null)
    await first.reload()
    await onChange()
  }
  return (
    <Loaded from={first}>
      {(data) => {
        const versions = [...data.versions, ...(more?.versions ?? [])]
        const next = more ? more.next : data.next
        const loadMore = async () => {
          const page = await read<History>(`${kind}/history?before=${next}`)
          setMore({ versions: [...(more?.versions ?? []), ...page.versions], next: page.next })
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
                  {canEdit.value && one.version !== version && (
                    <span class="actions">
                      <Confirm
                        label={`Roll back to version ${one.version}`}
                        run={() => rollBack(one.version)}
                        done={`Rolled back to version ${one.version}, now live as version ${version + 1}.`}
                      >
                        <RollbackChanges kind={kind} from={version} to={one.version} />
                        <NoteField note={note} onChange={setNote} />
                      </Confirm>
                    </span>
                  )}
                  <details open={one.differences.length > 0 && one.differences.length < 8}>
                    <summary>{plural(one.differences.length, 'change')}</summary>
                    <Changes changes={one.differences} />
                  </details>
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

type RollbackProps = { kind: string; from: number; to: number }

function RollbackChanges({ kind, from, to }: RollbackProps) {
  const current = useRemote<unknown>(`${kind}/versions/${from}`)
  const old = useRemote<unknown>(`${kind}/versions/${to}`)
  return (
    <Loaded from={current}>
      {(before) => (
        <Loaded from={old}>
          {(after) => (
            <>
              <p>Apps get this version at once. The current one stays in the history.</p>
              <Changes changes={differencesBetween(before, after)} />
            </>
          )}
        </Loaded>
      )}
    </Loaded>
  )
}

type NoteProps = { note: string; onChange: (note: string) => void }

export function NoteField({ note, onChange }: NoteProps) {
  const hint = 'Why you are publishing this. Shown in the history.'
  return <TextField label="Note" hint={hint} value={note} maxLength={500} onChange={onChange} />
}
