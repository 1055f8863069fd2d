import { Database } from 'bun:sqlite'
import type { Migration } from '../migrations.ts'
import { migrate, schemaVersion } from './migrate.ts'

/** Tables of SQLite itself and of Litestream. */
const TOLERATED = /^(sqlite_(sequence|stat1|stat4)|_litestream_(seq|lock))$/

type SchemaObject = { type: string; name: string; sql: string | null }

/**
 * The first schema object that no migration created, such as `trigger spy`. A newer version's database is not checked.
 */
export function foreignObject(path: string, migrations: Migration[]): string | null {
  using client = new Database(path, { readonly: true })
  client.run('PRAGMA trusted_schema = OFF')
  const version = schemaVersion(client)
  if (version > migrations.length) return null
  using model = new Database(':memory:')
  migrate(model, migrations.slice(0, version))
  const known = new Set(listObjects(model).map(formatObject))
  const found = listObjects(client).find((object) => !known.has(formatObject(object)))
  return found ? `${found.type} ${found.name}` : null
}

function listObjects(client: Database): SchemaObject[] {
  const rows = client.query('SELECT type, name, sql FROM sqlite_schema').all() as SchemaObject[]
  return rows.filter(({ type, name }) => type !== 'table' || !TOLERATED.test(name))
}

function formatObject({ type, name, sql }: SchemaObject): string {
  return `${type} ${name} ${sql}`
}
