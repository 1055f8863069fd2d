import type { Config } from '../../config/config.ts'
import { openPools } from '../../platform/db/postgres/open.ts'
import { openReader, selectRows } from '../../platform/db/sqlite/open.ts'
import { databasePath } from '../data/open-sqlite.ts'

const SELECT_KEYS = 'SELECT key FROM attachments ORDER BY key'

/** The keys of all files that the database refers to. */
export async function readRowKeys(config: Config, path = databasePath(config)): Promise<string[]> {
  if (config.databaseUrl === null || path !== databasePath(config)) {
    using reader = openReader(path)
    return selectRows(reader, SELECT_KEYS, []).map(([key]) => String(key))
  }
  await using pools = openPools(config.databaseUrl, 1)
  return (await pools.reads.read(SELECT_KEYS, [])).map(([key]) => String(key))
}

/** A message that names the missing files to which the database still refers; null if there are none. */
export async function describeMissing(config: Config, missing: string[]): Promise<string | null> {
  const referenced = new Set(missing.length === 0 ? [] : await readRowKeys(config))
  const lost = missing.filter((key) => referenced.has(key))
  if (lost.length === 0) return null
  const shown = lost.slice(0, 20).join(', ')
  const more = lost.length > 20 ? ` and ${lost.length - 20} more` : ''
  return `${lost.length} files that the database refers to are missing: ${shown}${more}.`
}
