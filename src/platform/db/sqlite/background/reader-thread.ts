import { tryTo } from '../../../../lib/errors.ts'
import { openReader, selectRows } from '../open.ts'
import type { FromReader, ToReader } from './reader.ts'

declare const self: Worker

/** Runs the selects that the main thread sends. */
const client = openReader(process.argv[2] ?? '')
self.onmessage = ({ data: { id, sql, params } }: MessageEvent<ToReader>) => {
  // Null if it fails: then the main thread runs the query again and reports the error.
  const rows = tryTo(() => selectRows(client, sql, params)) ?? null
  self.postMessage({ id, rows } satisfies FromReader)
}
