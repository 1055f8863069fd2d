import { DAY_MS } from '../../lib/time/durations.ts'
import { me } from '../operator.ts'

/** Unsaved changes that this browser keeps. */
export type StoredDraft = { key: string; screen: string; savedAt: string; content: unknown }

const PREFIX = 'homeport-draft/'
/** In UTF-16 units; browsers allow about five million for all drafts together. */
const MAX_LENGTH = 250_000
const MAX_DRAFTS = 20
const MAX_AGE_MS = 30 * DAY_MS

/** Editors that this tab has closed. The browser may report their locks for a moment longer. */
const closedHere = new Set<string>()

/** The key of a new editor on a screen. Each editor has its own, so that no tab overwrites another's draft. */
export function newDraftKey(screen: string): string {
  return `${toPrefix(me.value?.name ?? '')}${encodeURIComponent(screen)}/${crypto.randomUUID()}`
}

/** Keeps a draft. Returns false, and keeps the previous one, if it is too large or the browser refuses. */
export function saveDraft(key: string, content: unknown): boolean {
  const text = JSON.stringify({ savedAt: new Date().toISOString(), content })
  try {
    if (text.length > MAX_LENGTH) throw new RangeError('The draft is too large.')
    localStorage.setItem(key, text)
    deleteOldDrafts()
    return true
  } catch {
    return false
  }
}

export function removeDraft(key: string) {
  localStorage.removeItem(key)
}

/** Newest first. */
export function listDrafts(screen?: string): StoredDraft[] {
  const drafts = draftsWith(toPrefix(me.value?.name ?? ''))
  return screen === undefined ? drafts : drafts.filter((draft) => draft.screen === screen)
}

/** Marks the editor of a draft as open until the returned function is called or the tab closes. */
export function holdDraft(key: string): () => void {
  let close = () => {}
  const isClosed = new Promise<void>((resolve) => {
    close = resolve
  })
  void navigator.locks.request(key, () => isClosed)
  return () => {
    closedHere.add(key)
    close()
  }
}

/** The keys of the drafts that are open in any tab. */
export async function openDrafts(): Promise<Set<string>> {
  const { held = [] } = await navigator.locks.query()
  const keys = held.filter(({ mode }) => mode === 'exclusive').map(({ name = '' }) => name)
  return new Set(keys.filter((key) => !closedHere.has(key)))
}

/** Runs `call` when the editor of a draft closes, in any tab, unless the signal is aborted first. */
export function onceClosed(key: string, signal: AbortSignal, call: () => void) {
  // Shared, so that other waiting tabs do not mistake this lock for an open editor.
  navigator.locks.request(key, { mode: 'shared', signal }, () => {}).then(call, () => {})
}

function deleteOldDrafts() {
  const oldest = Date.now() - MAX_AGE_MS
  for (const [at, { key, savedAt }] of draftsWith(PREFIX).entries()) {
    if (at >= MAX_DRAFTS || Date.parse(savedAt) < oldest) removeDraft(key)
  }
}

function draftsWith(prefix: string): StoredDraft[] {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(prefix))
  const drafts = keys.flatMap((key) => {
    const [, , screen = ''] = key.split('/')
    try {
      const { savedAt, content } = JSON.parse(localStorage.getItem(key) ?? '')
      return [{ key, screen: decodeURIComponent(screen), savedAt: String(savedAt), content }]
    } catch {
      return []
    }
  })
  return drafts.toSorted((a, b) => b.savedAt.localeCompare(a.savedAt))
}

function toPrefix(operator: string): string {
  return `${PREFIX}${encodeURIComponent(operator)}/`
}
