import type { Config } from '../../config/config.ts'
import { openPools } from '../../platform/db/postgres/open.ts'
import { openReader, selectRows } from '../../platform/db/sqlite/open.ts'
import { databasePath } from '../data/open-sqlite.ts'

const FIND = 'SELECT key FROM attachments ORDER BY key'

/** The keys of all files that the database refers to. */
export async function readRowKeys(config: Config, path = databasePath(config)): Promise<string[]> {
  if (config.databaseUrl === null || path !== databasePath(config)) {
    using reader = openReader(path)
    return selectRows(reader, FIND, []).map(([key]) => String(key))
  }
  const { reads, changes } = openPools(config.databaseUrl, 1)
  try {
    return (await reads.read(FIND, [])).map(([key]) => String(key))
  } finally {
    await Promise.allSettled([reads.close(), changes.close()])
  }
}

/** A message about files that the database refers to, before and now, but that are missing; null if there are none. */
export async function describeMissing(config: Config, missing: string[]): Promise<string | null> {
  const named = new Set(missing.length === 0 ? [] : await readRowKeys(config))
  const left = missing.filter((key) => named.has(key))
  if (left.length === 0) return null
  const shown = left.slice(0, 20).join(', ')
  const more = left.length > 20 ? ` and ${left.length - 20} more` : ''
  return `${left.length} files that the database refers to are missing: ${shown}${more}.`
}
