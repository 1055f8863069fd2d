import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Difference, differencesBetween } from '../../lib/differences.ts'
import { ApiError, read, send } from '../api.ts'
import { plural } from '../format.ts'
import { canEdit } from '../operator.ts'
import { confirmLeaving, linkTo, parts } from '../router.ts'
import { Changes } from '../ui/changes.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { showMessage } from '../ui/messages.tsx'
import { Action, Tabs, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import type { Schema } from './form.tsx'
import { type History, HistoryList, NoteField } from './history.tsx'
import { merge } from './merge.ts'

type Edition<T> = { version: number; content: T; schema: Schema }

type Newest<T> = { author: string; edition: Edition<T> }

type EditorProps<T> = { draft: T; setDraft: (draft: T) => void; schema: Schema }

type PublishingProps<T> = {
  kind: string
  title: string
  children: (editor: EditorProps<T>) => ComponentChildren
}

/** Content that is edited as a whole, published as a version, and rolled back. */
export function Publishing<T>({ kind, title, children }: PublishingProps<T>) {
  const edition = useRemote<Edition<T>>(kind)
  const isHistory = parts.value[1] === 'history'
  return (
    <>
      <Title>{title}</Title>
      <Tabs
        label={title}
        tabs={[
          [linkTo(kind), 'Edit', !isHistory],
          [linkTo(`${kind}/history`), 'History', isHistory],
        ]}
      />
      <Loaded from={edition}>
        {(data) =>
          isHistory ? (
            <HistoryList kind={kind} version={data.version} onChange={edition.reload} />
          ) : (
            <Editor key={data.version} kind={kind} edition={data} onPublished={edition.reload}>
              {children}
            </Editor>
          )
        }
      </Loaded>
    </>
  )
}

type EditorWithBase<T> = {
  kind: string
  edition: Edition<T>
  onPublished: () => Promise<void>
  children: PublishingProps<T>['children']
}

function Editor<T>({ kind, edition, onPublished, children }: EditorWithBase<T>) {
  const [base, setBase] = useState(edition)
  const [draft, setDraft] = useState<T>(edition.content)
  const [isReviewing, setReviewing] = useState(false)
  const changes = differencesBetween(base.content, draft)
  const isChanged = changes.length > 0
  useEffect(() => {
    if (!isChanged) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    confirmLeaving(() => confirm('Discard unpublished changes?'))
    return () => {
      removeEventListener('beforeunload', ask)
      confirmLeaving(null)
    }
  }, [isChanged])
  return (
    <>
      {children({ draft, setDraft, schema: base.schema })}
      {canEdit.value && (
        <div class="actions end sticky">
          {isChanged && <span class="warn">{plural(changes.length, 'unpublished change')}</span>}
          <button type="button" disabled={!isChanged} onClick={() => setDraft(base.content)}>
            Discard changes
          </button>
          <button
            type="button"
            class="primary"
            disabled={!isChanged}
            onClick={() => setReviewing(true)}
          >
            Review and publish
          </button>
        </div>
      )}
      {isReviewing && (
        <Review
          kind={kind}
          base={base}
          draft={draft}
          changes={changes}
          onClose={() => setReviewing(false)}
          onPublished={onPublished}
          onRebase={(newest) => {
            setDraft(merge(base.content, draft, newest.content) as T)
            setBase(newest)
          }}
        />
      )}
    </>
  )
}

type ReviewProps<T> = {
  kind: string
  base: Edition<T>
  draft: T
  changes: Difference[]
  onClose: () => void
  onPublished: () => Promise<void>
  onRebase: (newest: Edition<T>) => void
}

/** Reviews the changes before publishing, or the changes that another operator published first. */
function Review<T>(props: ReviewProps<T>) {
  const { kind, base, draft, changes, onClose, onPublished, onRebase } = props
  const [note, setNote] = useState('')
  const [newest, setNewest] = useState<Newest<T> | null>(null)
  const publish = async () => {
    try {
      await send(`${kind}/publish`, { base: base.version, note, content: draft })
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error
      const { versions } = await read<History>(`${kind}/history`)
      const author = versions[0]?.author ?? 'Someone on the command line'
      return setNewest({ author, edition: await read<Edition<T>>(kind) })
    }
    confirmLeaving(null)
    onClose()
    await onPublished()
    showMessage('Published.')
  }
  if (newest) {
    const { author, edition } = newest
    const rebase = () => {
      onRebase(edition)
      setNewest(null)
    }
    return (
      <Dialog title={`${author} published while you were editing`} onClose={onClose}>
        <p>
          Version {edition.version} is live. You started from version {base.version}, and your
          changes are not published yet. Changes in the live version:
        </p>
        <Changes changes={differencesBetween(base.content, edition.content)} />
        <div class="actions end">
          <button type="button" onClick={onClose}>
            Back to my draft
          </button>
          <button type="button" class="primary" onClick={rebase}>
            Reapply my changes
          </button>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title="Publish these changes" onClose={onClose}>
      <Changes changes={changes} />
      <NoteField note={note} onChange={setNote} />
      <div class="actions end">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <Action kind="primary" run={publish}>
          Publish {changes.length === 1 ? 'change' : `${changes.length} changes`}
        </Action>
      </div>
    </Dialog>
  )
}
