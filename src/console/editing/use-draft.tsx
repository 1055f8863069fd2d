import { useEffect, useState } from 'preact/hooks'
import { clock } from '../format.ts'
import { confirmLeaving } from '../router.ts'
import {
  holdDraft,
  listDrafts,
  newDraftKey,
  openDrafts,
  removeDraft,
  type StoredDraft,
  saveDraft,
} from './drafts.ts'

type OtherDraft = StoredDraft & { isOpen: boolean }

type DraftOptions<T> = {
  /** The name of the editor, such as `settings`. */
  screen: string
  initial: T
  isChanged: (value: T) => boolean
  /** The part of the value that may be stored; must contain no secrets. */
  storable?: (value: T) => unknown
}

/**
 * The state of an editor, kept in this browser until it is published or discarded. It survives a closed tab, a
 * restarted server and an ended session.
 */
export function useDraft<T>({ screen, initial, isChanged, storable }: DraftOptions<T>) {
  const [key] = useState(() => newDraftKey(screen))
  const [value, setValue] = useState(initial)
  const [isKept, setKept] = useState(true)
  const [others, setOthers] = useState<OtherDraft[]>([])
  const hasChanges = isChanged(value)
  const refresh = async () => {
    const open = await openDrafts()
    const drafts = listDrafts(screen).filter((draft) => draft.key !== key)
    setOthers(drafts.map((draft) => ({ ...draft, isOpen: open.has(draft.key) })))
  }
  const forget = (oldKey = key) => {
    removeDraft(oldKey)
    setOthers((before) => before.filter((draft) => draft.key !== oldKey))
  }
  useEffect(() => {
    const release = holdDraft(key)
    const update = () => void refresh()
    update()
    addEventListener('storage', update)
    addEventListener('focus', update)
    return () => {
      release()
      removeEventListener('storage', update)
      removeEventListener('focus', update)
    }
  }, [])
  useEffect(() => {
    if (hasChanges) setKept(saveDraft(key, storable ? storable(value) : value))
    else removeDraft(key)
  }, [value])
  useEffect(() => {
    if (!hasChanges || isKept) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    confirmLeaving(() => confirm('Discard unpublished changes?'))
    return () => {
      removeEventListener('beforeunload', ask)
      confirmLeaving(null)
    }
  }, [hasChanges, isKept])
  return { value, setValue, hasChanges, isKept, others, forget }
}

type OffersProps = {
  drafts: OtherDraft[]
  /** Hidden while the editor has changes of its own, which restoring would replace. */
  hasChanges: boolean
  onRestore: (draft: StoredDraft) => void
  onDelete: (key: string) => void
}

/** Offers drafts of closed editors, and names those that are open in another tab. */
export function DraftOffers({ drafts, hasChanges, onRestore, onDelete }: OffersProps) {
  const offered = hasChanges ? [] : drafts.filter(({ isOpen }) => !isOpen)
  return (
    <div class="offers" role="status">
      {offered.map((draft) => (
        <div key={draft.key} class="notice">
          <span>Restore your unsaved changes from {clock(draft.savedAt)}?</span>
          <span class="actions">
            <button type="button" onClick={() => onRestore(draft)}>
              Restore
            </button>
            <button type="button" class="quiet" onClick={() => onDelete(draft.key)}>
              Delete them
            </button>
          </span>
        </div>
      ))}
      {drafts
        .filter(({ isOpen }) => isOpen)
        .map(({ key, savedAt }) => (
          <div key={key} class="notice">
            You have unsaved changes here in another tab, last edited at {clock(savedAt)}. Changes
            in this tab are kept separately.
          </div>
        ))}
    </div>
  )
}
