import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { clock } from '../format.ts'
import { confirmLeaving } from '../router.ts'
import {
  holdDraft,
  listDrafts,
  newDraftKey,
  onceClosed,
  openDrafts,
  removeDraft,
  type StoredDraft,
  saveDraft,
} from './drafts.ts'

type OtherDraft = StoredDraft & { isOpen: boolean }

type DraftOptions<T> = {
  /** Such as `settings`. */
  screen: string
  initial: T
  isChanged: (value: T) => boolean
  /** The part of the value that may be stored; must contain no secrets. */
  storable?: (value: T) => unknown
}

/** Keeps a draft in this browser until it is published or discarded, even after the tab closes or the session ends. */
export function useDraft<T>({ screen, initial, isChanged, storable }: DraftOptions<T>) {
  const [key] = useState(() => newDraftKey(screen))
  const [value, setValue] = useState(initial)
  const [isKept, setKept] = useState(true)
  const [others, setOthers] = useState<OtherDraft[]>([])
  const hasChanges = isChanged(value)
  const forget = (oldKey = key) => {
    removeDraft(oldKey)
    setOthers((before) => before.filter((draft) => draft.key !== oldKey))
  }
  const restore = (stored: StoredDraft) => {
    setValue(stored.content as T)
    forget(stored.key)
  }
  useEffect(() => {
    const release = holdDraft(key)
    const leaving = new AbortController()
    const { signal } = leaving
    const awaited = new Set<string>()
    const update = async () => {
      const open = await openDrafts()
      const drafts = listDrafts(screen)
        .filter((draft) => draft.key !== key)
        .map((draft) => ({ ...draft, isOpen: open.has(draft.key) }))
      for (const other of drafts) {
        if (!other.isOpen || awaited.has(other.key)) continue
        awaited.add(other.key)
        onceClosed(other.key, signal, () => {
          awaited.delete(other.key)
          void update()
        })
      }
      setOthers(drafts)
    }
    void update()
    addEventListener('storage', update, { signal })
    addEventListener('focus', update, { signal })
    return () => {
      release()
      leaving.abort()
    }
  }, [])
  // A layout effect, because the tab may be closed before the next paint.
  useLayoutEffect(() => {
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
  return { value, setValue, hasChanges, isKept, others, restore, forget }
}

type OffersProps = {
  draft: Pick<ReturnType<typeof useDraft>, 'others' | 'hasChanges' | 'restore' | 'forget'>
  /** Replaces the value by default. */
  onRestore?: (draft: StoredDraft) => void
}

/** Offers drafts of closed editors unless this one has changes, and mentions drafts that are open in another tab. */
export function DraftOffers({ draft, onRestore = draft.restore }: OffersProps) {
  const drafts = draft.others
  const offered = draft.hasChanges ? [] : drafts.filter(({ isOpen }) => !isOpen)
  return (
    <div class="offers" role="status">
      {offered.map((stored) => (
        <div key={stored.key} class="notice">
          <span>Restore your unsaved changes from {clock(stored.savedAt)}?</span>
          <span class="actions">
            <button type="button" onClick={() => onRestore(stored)}>
              Restore
            </button>
            <button type="button" class="quiet" onClick={() => draft.forget(stored.key)}>
              Discard
            </button>
          </span>
        </div>
      ))}
      {drafts
        .filter(({ isOpen }) => isOpen)
        .map(({ key, savedAt }) => (
          <div key={key} class="notice">
            You have unsaved changes to this page in another tab, last edited at {clock(savedAt)}.
            Changes in this tab are saved separately.
          </div>
        ))}
    </div>
  )
}
