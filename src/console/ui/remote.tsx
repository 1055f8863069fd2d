import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { read } from '../api.ts'
import { keptPages, repeats } from '../visits.ts'
import { Action } from './parts.tsx'
import { describeError } from './problems.tsx'

/** `path`: the path of the data. */
export type Remote<T> = {
  path: string
  data: T | null
  error: unknown
  /** Whether the data is that of an earlier path. */
  isStale: boolean
  reload: () => Promise<void>
}

/**
 * Reads data, and again when `path` changes or, if `isRepeatable`, when the same link is followed. Keeps the old data
 * until the new data arrives.
 */
export function useRemote<T>(
  path: string,
  readData = (): Promise<T> => read<T>(path),
  isRepeatable = true,
): Remote<T> {
  const [state, setState] = useState<{ path: string; data: T | null; error: unknown }>({
    path,
    data: null,
    error: null,
  })
  /** The latest path, and the number of reads: only the response to the last one is shown. */
  const latest = useRef({ path, reads: 0 })
  latest.current.path = path
  const load = async () => {
    // An action that began on an earlier path may end now.
    if (latest.current.path !== path) return
    const number = ++latest.current.reads
    const isLast = () => number === latest.current.reads
    try {
      const data = await readData()
      if (isLast()) setState({ path, data, error: null })
    } catch (error) {
      // Data of this path stays on screen, with everything that the operator has entered.
      if (isLast())
        setState(({ path: loaded, data }) => ({ path, data: loaded === path ? data : null, error }))
    }
  }
  useEffect(() => {
    void load()
  }, [path, isRepeatable && repeats.value])
  return { ...state, isStale: state.path !== path, reload: load }
}

/** Whether the page is in the background, where it should keep no connection open: browsers allow six for all tabs. */
export function useHidden(): boolean {
  const [isHidden, setHidden] = useState(document.hidden)
  useEffect(() => {
    const update = () => setHidden(document.hidden)
    document.addEventListener('visibilitychange', update)
    return () => document.removeEventListener('visibilitychange', update)
  }, [])
  return isHidden
}

/** Reloads stop after this time: they would keep an unattended page signed in. */
const UNATTENDED_MS = 60 * 60_000
let lastInputAt = Date.now()
for (const input of ['pointerdown', 'keydown'])
  globalThis.addEventListener?.(input, () => {
    lastInputAt = Date.now()
  })

/** Reloads every `ms` while the page is in use and no dialog is open: during a sign-in, requests would queue up. */
export function useRefresh(reload: () => Promise<void>, ms: number, isOn = true) {
  const latest = useRef(reload)
  latest.current = reload
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(() => {
      const isInUse = !document.hidden && Date.now() - lastInputAt < UNATTENDED_MS
      if (isInUse && !document.querySelector('dialog[open]')) void latest.current()
    }, ms)
    return () => clearInterval(timer)
  }, [isOn])
}

type LoadedProps<T> = { from: Remote<T>; children: (data: T) => ComponentChildren }

/** Shows the loaded data, a loading indicator, or the error. After a failed reload, shows the error above the old data. */
export function Loaded<T>({ from, children }: LoadedProps<T>) {
  if (from.error === null && from.data === null) return <Loading />
  return (
    <>
      {from.error !== null && (
        <div class="failed" role="alert">
          <p>{describeError(from.error)}</p>
          <Action run={from.reload}>Try again</Action>
        </div>
      )}
      {from.isStale && <Loading />}
      {from.data !== null && children(from.data)}
    </>
  )
}

export function Loading() {
  return <div class="loading" role="status" aria-label="Loading" />
}

type Page<T> = { next: string | null; total?: number | null } & T
type Longer<Row> = { path: string; rows: Row[]; next: string | null }
type Kept<T, Row> = { first: Page<T>; longer: Longer<Row> | null }

/** The loaded rows of a list. `path`: the path of the list. */
export type Pages<T, Row> = Omit<ReturnType<typeof usePages>, 'first' | 'rows'> & {
  first: Remote<Page<T>>
  rows: Row[]
}

/**
 * A reload replaces the first page and keeps later rows, unless rows between them are missing. After Back, the list is
 * as long as before. `total`: the server's count, or the number of rows once all are loaded.
 */
export function usePages<T, Row extends { id: string } | { key: string }>(
  path: string,
  rowsOf: (page: Page<T>) => Row[],
) {
  const remote = useRemote<Page<T>>(path)
  const [more, setMore] = useState<Longer<Row> | null>(null)
  const kept = keptPages().get(path) as Kept<T, Row> | undefined
  const isLoaded = !remote.isStale && remote.data !== null
  const first = isLoaded || !kept ? remote : { ...remote, data: kept.first, isStale: false }
  const loaded = more?.path === path ? more : kept?.longer
  const longer = (first.data !== null && loaded) || null
  const newest = first.data === null ? [] : rowsOf(first.data)
  const rest = longer && rowsAfter(newest.at(-1), longer.rows)
  const hasRest = rest !== null && first.data?.next !== null
  const rows = hasRest ? [...newest, ...rest] : newest
  /** A reload and "Load more" may overtake each other. */
  const latest = useRef({ path, rows })
  latest.current = { path, rows }
  const end = hasRest ? (longer?.next ?? null) : (first.data?.next ?? null)
  // After a filter change, the old list's total and next page no longer apply.
  const next = first.isStale ? null : end
  const total = first.isStale ? null : (first.data?.total ?? (next === null ? rows.length : null))
  useEffect(() => {
    if (isLoaded && first.data !== null) keptPages().set(path, { first: first.data, longer })
  })
  const readAfter = (after: string) =>
    read<Page<T>>(`${path}${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(after)}`)
  const loadMore = async () => {
    const page = await readAfter(next ?? '')
    const shown = latest.current.path === path ? latest.current.rows : rows
    // New rows may have pushed others off the first page.
    const pushedOff = rowsAfter(shown.at(-1), rows) ?? []
    setMore({ path, rows: joinRows([...shown, ...pushedOff], rowsOf(page)), next: page.next })
  }
  const reload = async () => {
    await Promise.all([remote.reload(), reloadLonger()])
  }
  const reloadLonger = async () => {
    if (longer === null) return
    let page = await read<Page<T>>(path)
    let again = rowsOf(page)
    while (again.length < latest.current.rows.length && page.next !== null) {
      page = await readAfter(page.next)
      again = joinRows(again, rowsOf(page))
    }
    setMore({ path, rows: again, next: page.next })
  }
  useEffect(() => {
    // An action on the screen before Back may have changed a row. If this fails, "Try again" reads the first page.
    void reloadLonger().catch(() => {})
  }, [path])
  return { path, first, rows, next, total, loadMore, reload }
}

/** Adds rows without duplicates: a row that has moved may be on two pages. */
function joinRows<Row extends { id: string } | { key: string }>(rows: Row[], more: Row[]): Row[] {
  const known = new Set(rows.map(readId))
  return [...rows, ...more.filter((row) => !known.has(readId(row)))]
}

/** The rows after `last`; null if it is not among them, because more new rows have arrived than a page has. */
function rowsAfter<Row extends { id: string } | { key: string }>(
  last: Row | undefined,
  rows: Row[],
): Row[] | null {
  const at = last === undefined ? -1 : rows.findIndex((row) => readId(row) === readId(last))
  return at === -1 ? null : rows.slice(at + 1)
}

export function readId(row: { id: string } | { key: string }): string {
  return 'id' in row ? row.id : row.key
}
