import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { read } from '../api.ts'
import { Act, sentenceOf } from './parts.tsx'

export type Remote<T> = { data: T | null; error: unknown; reload: () => Promise<void> }

/** What a path answers; asked for again when the path changes. What was there stays until then. */
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
      if (isCurrent()) setState((before) => ({ ...before, path, error }))
    }
  }
  useEffect(() => {
    let isCurrent = true
    void load(() => isCurrent)
    return () => {
      isCurrent = false
    }
  }, [path])
  return { data: state.data, error: state.error, reload: () => load() }
}

/** What was loaded, or that it is loading or has failed. */
export function Loaded<T>({
  from,
  children,
}: {
  from: Remote<T>
  children: (data: T) => ComponentChildren
}) {
  if (from.error !== null) {
    return (
      <div class="failed" role="alert">
        <p>{sentenceOf(from.error)}</p>
        <Act act={from.reload}>Try again</Act>
      </div>
    )
  }
  if (from.data === null) return <div class="loading" role="status" aria-label="Loading" />
  return <>{children(from.data)}</>
}

type Paged<T> = { next: string | null } & T

/**
 * A list that goes on page by page. `rowsOf` takes the rows out of a page. What is new at the first page when that is
 * loaded again comes before what is there.
 */
export function usePages<T, Row extends { id: string } | { key: string }>(
  path: string,
  rowsOf: (page: Paged<T>) => Row[],
) {
  const first = useRemote<Paged<T>>(path)
  const [more, setMore] = useState<{ path: string; rows: Row[]; next: string | null } | null>(null)
  const isMore = more !== null && more.path === path && first.data !== null
  const own = first.data === null ? [] : rowsOf(first.data)
  const next = isMore ? more.next : (first.data?.next ?? null)
  const known = new Set(isMore ? more.rows.map(nameOf) : [])
  const rows = isMore ? [...own.filter((row) => !known.has(nameOf(row))), ...more.rows] : own
  const loadMore = async () => {
    const after = encodeURIComponent(next ?? '')
    const page = await read<Paged<T>>(`${path}${path.includes('?') ? '&' : '?'}after=${after}`)
    setMore({ path, rows: [...rows, ...rowsOf(page)], next: page.next })
  }
  return { first, rows, next, loadMore }
}

function nameOf(row: { id: string } | { key: string }): string {
  return 'id' in row ? row.id : row.key
}
