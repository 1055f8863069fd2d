import { join } from 'node:path'

/** Messages between the threads. `rows` is null when the query failed. */
export type ToReader = { id: number; sql: string; params: unknown[] }
export type FromReader = { id: number; rows: unknown[][] | null }

type Rows = FromReader['rows']

/** In the executable, all code is next to the entry points' folders. */
const CODE = Bun.isStandaloneExecutable
  ? join(import.meta.dir, 'platform/db/sqlite/background/reader-thread.js')
  : join(import.meta.dir, 'reader-thread.ts')

/** SQLite blocks the event loop during a query. The thread starts with the first query, but never after `onError`. */
export function createBackgroundReader(path: string, onError: (message: string) => void) {
  const waiting = new Map<number, (rows: Rows) => void>()
  let thread: Worker | null = null
  let hasFailed = false
  let lastId = 0
  return { read, stop }

  /** Null if the thread could not run the query. */
  async function read(sql: string, params: unknown[]): Promise<Rows> {
    if (hasFailed) return null
    thread ??= start()
    const { promise, resolve } = Promise.withResolvers<Rows>()
    const id = ++lastId
    waiting.set(id, resolve)
    thread.postMessage({ id, sql, params } satisfies ToReader)
    return promise
  }

  function start(): Worker {
    const started = new Worker(CODE, { argv: [path] })
    started.onmessage = ({ data }: MessageEvent<FromReader>) => answer(data)
    started.onerror = ({ message }) => {
      hasFailed = true
      stop()
      onError(message)
    }
    started.unref()
    return started
  }

  function answer({ id, rows }: FromReader) {
    waiting.get(id)?.(rows)
    waiting.delete(id)
  }

  /** Queries under way get null. */
  function stop() {
    thread?.terminate()
    thread = null
    for (const id of waiting.keys()) answer({ id, rows: null })
  }
}
