import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Difference, differencesBetween } from '../../lib/differences.ts'
import { ApiError, read, send } from '../api.ts'
import { plural } from '../format.ts'
import { guardLeaving, linkTo, parts } from '../router.ts'
import type { Edition, Me, Schema } from '../types.ts'
import { Changes } from '../ui/changes.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { say } from '../ui/messages.tsx'
import { Act, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import { HistoryList } from './history.tsx'
import { merged } from './merge.ts'
import { NoteField } from './note-field.tsx'

type EditorProps<T> = {
  draft: T
  setDraft: (draft: T) => void
  schema: Schema
  me: Me
}

type PublishingProps<T> = {
  kind: string
  title: string
  me: Me
  children: (editor: EditorProps<T>) => ComponentChildren
}

/** Something that is edited as a whole, published as a version, and rolled back. */
export function Publishing<T>({ kind, title, me, children }: PublishingProps<T>) {
  const edition = useRemote<Edition<T>>(kind)
  const isHistory = parts.value[1] === 'history'
  return (
    <>
      <Title>{title}</Title>
      <nav class="tabs" aria-label={title}>
        <a href={linkTo(kind)} aria-current={isHistory ? undefined : 'page'}>
          Edit
        </a>
        <a href={linkTo(`${kind}/history`)} aria-current={isHistory ? 'page' : undefined}>
          History
        </a>
      </nav>
      <Loaded from={edition}>
        {(data) =>
          isHistory ? (
            <HistoryList kind={kind} version={data.version} me={me} onChange={edition.reload} />
          ) : (
            <Editor
              key={data.version}
              kind={kind}
              edition={data}
              me={me}
              onPublished={edition.reload}
            >
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
  me: Me
  onPublished: () => Promise<void>
  children: PublishingProps<T>['children']
}

function Editor<T>({ kind, edition, me, onPublished, children }: EditorWithBase<T>) {
  const [base, setBase] = useState(edition)
  const [draft, setDraft] = useState<T>(edition.content)
  const [isReviewing, setReviewing] = useState(false)
  const changes = differencesBetween(base.content, draft)
  const isChanged = changes.length > 0
  useEffect(() => {
    if (!isChanged) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    guardLeaving(() => confirm('What you have changed is not published. Leave it?'))
    return () => {
      removeEventListener('beforeunload', ask)
      guardLeaving(null)
    }
  }, [isChanged])
  const mayChange = me.role !== 'reader'
  return (
    <>
      {children({ draft, setDraft, schema: base.schema, me })}
      {mayChange && (
        <div class="actions end sticky">
          {isChanged && (
            <span class="warn">
              {changes.length} {plural(changes.length, 'change')}, not published
            </span>
          )}
          <button type="button" disabled={!isChanged} onClick={() => setDraft(base.content)}>
            Discard
          </button>
          <button
            type="button"
            class="main"
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
            setDraft(merged(base.content, draft, newest.content) as T)
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

/** Shows what will change, and what was published meanwhile by somebody else. */
function Review<T>(props: ReviewProps<T>) {
  const { kind, base, draft, changes, onClose, onPublished, onRebase } = props
  const [note, setNote] = useState('')
  const [newest, setNewest] = useState<Edition<T> | null>(null)
  const publish = async () => {
    try {
      await send(`${kind}/publish`, { base: base.version, note, content: draft })
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error
      setNewest(await read<Edition<T>>(kind))
      return
    }
    guardLeaving(null)
    onClose()
    await onPublished()
    say('Published.')
  }
  if (newest) {
    return (
      <Dialog title="Somebody has published meanwhile" onClose={onClose}>
        <p>
          You began with version {base.version}; version {newest.version} stands by now. Nothing of
          yours was published. This came in between:
        </p>
        <Changes of={differencesBetween(base.content, newest.content)} />
        <div class="actions end">
          <button type="button" onClick={onClose}>
            Back to my draft
          </button>
          <button
            type="button"
            class="main"
            onClick={() => {
              onRebase(newest)
              setNewest(null)
            }}
          >
            Put my changes on top
          </button>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title="Publish these changes" onClose={onClose}>
      <Changes of={changes} />
      <NoteField note={note} onChange={setNote} />
      <div class="actions end">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <Act kind="main" act={publish}>
          Publish {changes.length === 1 ? 'the change' : `${changes.length} changes`}
        </Act>
      </div>
    </Dialog>
  )
}
