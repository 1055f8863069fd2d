import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Difference, differencesBetween } from '../../lib/text/differences.ts'
import { ApiError, read, send } from '../api.ts'
import { plural } from '../format.ts'
import { canEdit } from '../operator.ts'
import { linkTo, parts, query } from '../router.ts'
import { offerUndo, showMessage } from '../ui/messages.tsx'
import { Failure, Tabs, Title } from '../ui/parts.tsx'
import { Problems, useProblems } from '../ui/problems.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import type { Schema } from '../ui/schema-fields.tsx'
import type { StoredDraft } from './drafts.ts'
import { type History, HistoryList } from './history.tsx'
import { merge } from './merge.ts'
import { Conflict, Review } from './review.tsx'
import { DraftOffers, useDraft } from './use-draft.tsx'
import { Values } from './values.tsx'

type Version<T> = { version: number; content: T }
type Edition<T> = Version<T> & { schema: Schema }

type Newest<T> = { author: string; edition: Edition<T> }

/** An edit to a version, with the note that will be published. */
type Edit<T> = { base: Version<T>; content: T; note: string }

type EditorProps<T> = { draft: T; setDraft: (draft: T) => void; schema: Schema }

type PublishingProps<T> = {
  kind: string
  title: string
  /** The name of a record, shown to readers. */
  nameOf?: (record: Record<string, unknown>) => string
  /** Shown below the editor, and to readers below the values. */
  preview?: (content: T) => ComponentChildren
  /** Converts the content to the form that readers see. */
  readable?: (content: T) => unknown
  /** Returns the warnings to show before the content is published. */
  findWarnings?: (content: T) => Promise<string[]>
  children: (editor: EditorProps<T>) => ComponentChildren
}

/** Content that is edited as a whole, published as a version, and rolled back. */
export function Publishing<T>(props: PublishingProps<T>) {
  const { kind, title, nameOf, preview, readable, findWarnings, children } = props
  const isHistory = parts.value[1] === 'history'
  // An open editor must not be replaced.
  const edition = useRemote<Edition<T>>(kind, undefined, isHistory)
  const [isPublished, setPublished] = useState(false)
  const show = (data: Edition<T>) => {
    if (isHistory)
      return <HistoryList kind={kind} version={data.version} onChange={edition.reload} />
    if (!canEdit.value) {
      const { schema, content } = data
      return (
        <>
          <Values
            schema={schema}
            content={readable ? readable(content) : content}
            nameOf={nameOf ?? String}
          />
          {preview?.(content)}
        </>
      )
    }
    return (
      <Editor
        key={data.version}
        kind={kind}
        edition={data}
        onPublished={async () => {
          await edition.reload()
          setPublished(true)
        }}
        preview={preview}
        findWarnings={findWarnings}
      >
        {children}
      </Editor>
    )
  }
  return (
    <>
      <Title>{title}</Title>
      <Tabs
        label={title}
        tabs={[
          [linkTo(kind), canEdit.value ? 'Edit' : 'View', !isHistory],
          [linkTo(`${kind}/history`), 'History', isHistory],
        ]}
      />
      {isPublished && <BackLink />}
      <Loaded from={edition}>{show}</Loaded>
    </>
  )
}

/** Links back to the page that the operator came from, such as a user's. */
function BackLink() {
  const from = query.value.get('from') ?? ''
  const [noun] = /^(user|purchase)/.exec(from.replace('people', 'user')) ?? []
  if (noun === undefined) return null
  return (
    <p class="notice">
      <a href={linkTo(from)}>Back to the {noun}</a>
    </p>
  )
}

type EditorWithBase<T> = Pick<PublishingProps<T>, 'kind' | 'children'> & {
  preview: PublishingProps<T>['preview']
  findWarnings: PublishingProps<T>['findWarnings']
  edition: Edition<T>
  onPublished: () => Promise<void>
}

function Editor<T>(props: EditorWithBase<T>) {
  const { kind, edition, onPublished, preview, findWarnings, children } = props
  const { version, content: published } = edition
  const initial: Edit<T> = { base: { version, content: published }, content: published, note: '' }
  const findChanges = ({ base, content }: Edit<T>) => differencesBetween(base.content, content)
  const draft = useDraft<Edit<T>>({
    screen: kind,
    initial,
    isChanged: (edit) => findChanges(edit).length > 0,
  })
  const [isReviewing, setReviewing] = useState(false)
  const [newest, setNewest] = useState<Newest<T> | null>(null)
  const [error, setError] = useState<unknown>(null)
  const { value: edit, setValue: setEdit, hasChanges } = draft
  const changes = findChanges(edit)
  const reapply = ({ version: live, content }: Version<T>, onto: Edit<T>) =>
    setEdit({
      base: { version: live, content },
      content: merge(onto.base.content, onto.content, content) as T,
      note: onto.note,
    })
  const restore = async ({ key, content }: StoredDraft) => {
    const kept = content as Edit<T>
    setReviewing(false)
    if (kept.base.version === version) reapply(initial.base, kept)
    else {
      setEdit(kept)
      setNewest({ author: await latestAuthor(kind), edition })
    }
    draft.forget(key)
  }
  const publish = async () => {
    const { base, content, note } = edit
    setError(null)
    try {
      await send(`${kind}/publish`, { base: base.version, note, content })
    } catch (refusal) {
      if (!(refusal instanceof ApiError)) throw refusal
      const hasFields = refusal.status === 422 && refusal.details.length > 0
      if (refusal.status !== 409 && !hasFields) throw refusal
      const live = hasFields ? null : await read<Edition<T>>(kind)
      // If the live content equals ours, only the response to the first request was lost.
      const isPublished = live !== null && differencesBetween(content, live.content).every(isNewId)
      if (!isPublished) {
        if (live === null) setError(refusal)
        else setNewest({ author: await latestAuthor(kind), edition: live })
        return setReviewing(false)
      }
    }
    draft.forget()
    await onPublished()
    setReviewing(false)
    showMessage('Published.')
  }
  const closeUndo = useRef(() => {})
  // An edit after discarding starts a new draft, which an undo would overwrite.
  useEffect(() => {
    if (hasChanges) closeUndo.current()
  }, [hasChanges])
  useEffect(() => () => closeUndo.current(), [])
  const discard = () => {
    setError(null)
    setEdit(initial)
    closeUndo.current = offerUndo('Changes discarded.', () => setEdit(edit))
  }
  return (
    <Problems error={error}>
      <DraftOffers draft={draft} onRestore={restore} />
      {error !== null && <Refusal onDismiss={() => setError(null)} />}
      {children({
        draft: edit.content,
        setDraft: (content) => setEdit({ ...edit, content }),
        schema: edition.schema,
      })}
      {preview?.(edit.content)}
      <div class="actions end sticky" hidden={!hasChanges}>
        {hasChanges && (
          <span class="warn">
            {plural(changes.length, 'unpublished change')}
            <span class="more">
              {draft.isKept ? ', saved in this browser' : ', too large to save in this browser'}
            </span>
          </span>
        )}
        <button type="button" class="discard" disabled={!hasChanges} onClick={discard}>
          Discard<span class="more"> changes</span>
        </button>
        <button
          type="button"
          class="primary"
          disabled={!hasChanges}
          onClick={() => setReviewing(true)}
        >
          Review<span class="more"> and publish</span>
        </button>
      </div>
      {isReviewing && (
        <Review
          changes={changes}
          note={edit.note}
          setNote={(note) => setEdit({ ...edit, note })}
          findWarnings={findWarnings && (() => findWarnings(edit.content))}
          publish={publish}
          onClose={() => setReviewing(false)}
        />
      )}
      {newest && (
        <Conflict
          author={newest.author}
          base={edit.base}
          newest={newest.edition}
          onClose={() => setNewest(null)}
          onReapply={() => {
            reapply(newest.edition, edit)
            setNewest(null)
            setReviewing(true)
          }}
        />
      )}
    </Problems>
  )
}

/** The server gives new plans and questions an id. */
function isNewId({ path, before }: Difference): boolean {
  return before === null && path.endsWith('._id')
}

/** Shows how many fields were refused, and leads to the first. */
function Refusal({ onDismiss }: { onDismiss: () => void }) {
  const summary = useProblems()?.summary ?? ''
  if (summary === '') return null
  const showField = () => document.querySelector<HTMLElement>('main [aria-invalid=true]')?.focus()
  return (
    <Failure onDismiss={onDismiss} onShow={showField}>
      {summary}
    </Failure>
  )
}

async function latestAuthor(kind: string): Promise<string> {
  const { versions } = await read<History>(`${kind}/history`)
  return versions[0]?.author ?? 'Someone on the command line'
}
