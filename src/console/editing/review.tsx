import { useEffect, useState } from 'preact/hooks'
import { type Difference, differencesBetween } from '../../lib/text/differences.ts'
import { me } from '../operator.ts'
import { Changes } from '../ui/changes.tsx'
import { Dialog, useBusy } from '../ui/dialog.tsx'
import { Action } from '../ui/parts.tsx'
import { NoteField } from './history.tsx'

type ReviewProps = {
  changes: Difference[]
  note: string
  setNote: (note: string) => void
  findWarnings?: (() => Promise<string[]>) | undefined
  publish: () => Promise<unknown>
  onClose: () => void
}

export function Review(props: ReviewProps) {
  const { changes, note, setNote, findWarnings, publish, onClose } = props
  const [warnings, setWarnings] = useState<string[]>([])
  const { isBusy, runBusy } = useBusy(publish)
  useEffect(() => {
    // Errors are ignored here: publishing shows the fields that the server refuses.
    void findWarnings?.().then(setWarnings, () => {})
  }, [])
  return (
    <Dialog title="Publish these changes" onClose={onClose} isBusy={isBusy}>
      <Changes changes={changes} />
      <div role="status">
        {warnings.map((warning) => (
          <p key={warning} class="warn">
            {warning}
          </p>
        ))}
      </div>
      <NoteField note={note} onChange={setNote} />
      <div class="actions end">
        <button type="button" disabled={isBusy} onClick={onClose}>
          Cancel
        </button>
        <Action kind="primary" disabled={changes.length === 0} run={runBusy}>
          Publish {changes.length === 1 ? 'change' : `${changes.length} changes`}
        </Action>
      </div>
    </Dialog>
  )
}

type Version = { version: number; content: unknown }

type ConflictProps = {
  author: string
  base: Version
  newest: Version
  onReapply: () => void
  onClose: () => void
}

export function Conflict({ author, base, newest, onReapply, onClose }: ConflictProps) {
  return (
    <Dialog
      title={
        author === me.value?.name
          ? 'You published in another tab'
          : `${author} published while you were editing`
      }
      onClose={onClose}
    >
      <p>
        Version {newest.version} is live. You started from version {base.version}, and your changes
        are not published yet. Changes in the live version:
      </p>
      <Changes changes={differencesBetween(base.content, newest.content)} />
      <div class="actions end">
        <button type="button" onClick={onClose}>
          Back to my draft
        </button>
        <button type="button" class="primary" onClick={onReapply}>
          Reapply my changes
        </button>
      </div>
    </Dialog>
  )
}
