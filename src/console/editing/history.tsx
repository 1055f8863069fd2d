import { useState } from 'preact/hooks'
import { differencesBetween } from '../../lib/differences.ts'
import { read, send } from '../api.ts'
import { plural } from '../format.ts'
import type { History, Me } from '../types.ts'
import { Changes } from '../ui/changes.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Act, At, Badge, Empty } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import { NoteField } from './note-field.tsx'

type HistoryProps = { kind: string; version: number; me: Me; onChange: () => Promise<void> }

/** Every version, who published it and why; an old one is published again as a new one. */
export function HistoryList({ kind, version, me, onChange }: HistoryProps) {
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
        if (versions.length === 0) return <Empty>Nothing was published yet.</Empty>
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
                    {one.author ?? 'a command'}, <At at={one.publishedAt} />
                  </span>
                  {me.role !== 'reader' && one.version !== version && (
                    <span class="actions">
                      <Confirm
                        label={`Go back to version ${one.version}`}
                        act={() => rollBack(one.version)}
                        done={`Version ${one.version} stands again, saved as version ${version + 1}.`}
                      >
                        <WhatChanges kind={kind} from={version} to={one.version} />
                        <NoteField note={note} onChange={setNote} />
                      </Confirm>
                    </span>
                  )}
                  <details open={one.differences.length > 0 && one.differences.length < 8}>
                    <summary>
                      {one.differences.length} {plural(one.differences.length, 'change')}
                    </summary>
                    <Changes of={one.differences} />
                  </details>
                </li>
              ))}
            </ol>
            {next !== null && <Act act={loadMore}>More</Act>}
          </>
        )
      }}
    </Loaded>
  )
}

/** What going back would change for apps. */
function WhatChanges({ kind, from, to }: { kind: string; from: number; to: number }) {
  const now = useRemote<unknown>(`${kind}/versions/${from}`)
  const then = useRemote<unknown>(`${kind}/versions/${to}`)
  return (
    <Loaded from={now}>
      {(before) => (
        <Loaded from={then}>
          {(after) => (
            <>
              <p>This changes at once what apps get; what is live now stays in the history.</p>
              <Changes of={differencesBetween(before, after)} />
            </>
          )}
        </Loaded>
      )}
    </Loaded>
  )
}
