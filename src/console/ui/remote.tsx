import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { read } from '../api.ts'
import { Action } from './parts.tsx'
import { describeError } from './problems.tsx'

export type Remote<T> = { data: T | null; error: unknown; reload: () => Promise<void> }

/** Reads `path`, and again whenever it changes. Keeps the old data until the new data arrives. */
export function useRemote<T>(path: string): Remote<T> {
  const [state, setState] = useState<{ path: string; data: T | null; error: unknown }>({
    path,
    data: null,
    error: null,
  })
  const load = async (isCurrent: () => boolean = () => true) => {
    try {
      const data = await read<T>(path)
      if (isCurrent()) setState({ path, data, error: null })
    } catch (error) {
      // Data of this path stays on screen, and with it what the operator has entered.
      if (isCurrent())
        setState(({ path: loaded, data }) => ({ path, data: loaded === path ? data : null, error }))
    }
  }
  useEffect(() => {
    let isCurrent = true
    void load(() => isCurrent)
    return () => {
      isCurrent = false
    }
  }, [path])
  return { ...state, reload: () => load() }
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
      {from.data !== null && children(from.data)}
    </>
  )
}

export function Loading() {
  return <div class="loading" role="status" aria-label="Loading" />
}

type Page<T> = { next: string | null } & T

/** Reads a list page by page. A reload adds new rows above the visible ones. */
export function usePages<T, Row extends { id: string } | { key: string }>(
  path: string,
  rowsOf: (page: Page<T>) => Row[],
) {
  const first = useRemote<Page<T>>(path)
  const [more, setMore] = useState<{ path: string; rows: Row[]; next: string | null } | null>(null)
  const hasLoadedMore = more !== null && more.path === path && first.data !== null
  const newest = first.data === null ? [] : rowsOf(first.data)
  const next = hasLoadedMore ? more.next : (first.data?.next ?? null)
  const known = new Set(hasLoadedMore ? more.rows.map(idOf) : [])
  const rows = hasLoadedMore
    ? [...newest.filter((row) => !known.has(idOf(row))), ...more.rows]
    : newest
  const loadMore = async () => {
    const after = encodeURIComponent(next ?? '')
    const page = await read<Page<T>>(`${path}${path.includes('?') ? '&' : '?'}after=${after}`)
    setMore({ path, rows: [...rows, ...rowsOf(page)], next: page.next })
  }
  return { first, rows, next, loadMore }
}

function idOf(row: { id: string } | { key: string }): string {
  return 'id' in row ? row.id : row.key
}
