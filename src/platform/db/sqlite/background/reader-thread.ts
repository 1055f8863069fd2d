import { openReader, selectRows } from '../open.ts'
import type { FromReader, ToReader } from './reader.ts'

declare const self: Worker

/** Runs the selects that the main thread sends. */
const client = openReader(process.argv[2] ?? '')
self.onmessage = ({ data: { id, sql, params } }: MessageEvent<ToReader>) => {
  self.postMessage({ id, rows: rowsOrNull(sql, params) } satisfies FromReader)
}

function rowsOrNull(sql: string, params: unknown[]): unknown[][] | null {
  try {
    return selectRows(client, sql, params)
  } catch {
    // The main thread runs the query again and reports the error.
    return null
  }
}
