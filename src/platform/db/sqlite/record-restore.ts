import { newId } from '../../../lib/ids.ts'
import { openDatabase } from './open.ts'

const RAISE_VERSIONS = 'UPDATE content_versions SET version = max(version + 1, ?)'
const HAS_CHANGES = "SELECT 1 FROM sqlite_schema WHERE name = 'user_changes'"
const RECORD = `INSERT INTO user_changes (key, user_id, kind, change_id) VALUES (?1, NULL, ?1, ?2)
ON CONFLICT (key) DO UPDATE SET change_id = excluded.change_id`

/** Makes apps read everything again: they may have newer content. The schema may be old. `kinds`: the kinds of changes. */
export function recordRestore(path: string, kinds: readonly string[]) {
  using database = openDatabase(path)
  // Apps read content again only when its version is higher than the one they know.
  database.run(RAISE_VERSIONS, [versionAfterRestore()])
  if (database.query(HAS_CHANGES).get() === null) return
  for (const kind of kinds) database.run(RECORD, [kind, newId()])
}

/** The seconds since 2026: content is edited less than once a second, so a later restore gets a higher version. */
export function versionAfterRestore(): number {
  return Math.floor((Date.now() - Date.UTC(2026, 0)) / 1000)
}
