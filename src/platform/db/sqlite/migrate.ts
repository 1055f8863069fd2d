import type { Database } from 'bun:sqlite'
import type { Migration } from '../migrations.ts'

export function schemaVersion(client: Database): number {
  const row = client.query('PRAGMA user_version').get() as { user_version: number }
  return row.user_version
}

/** Applies all pending migrations or none. Returns their tags. */
export function migrate(client: Database, migrations: Migration[]): string[] {
  const pending = migrations.slice(schemaVersion(client))
  if (pending.length === 0) return []
  // The pragma has no effect inside a transaction; with it on, rebuilding a parent table would delete its children.
  client.run('PRAGMA foreign_keys = OFF')
  try {
    client.run('BEGIN IMMEDIATE')
    for (const { statements } of pending) for (const sql of statements) client.run(sql)
    const broken = client.query('PRAGMA foreign_key_check').all()
    if (broken.length > 0)
      throw new Error(`the migration leaves ${broken.length} rows without a parent`)
    client.run(`PRAGMA user_version = ${migrations.length}`)
    client.run('COMMIT')
  } catch (error) {
    if (client.inTransaction) client.run('ROLLBACK')
    throw error
  } finally {
    client.run('PRAGMA foreign_keys = ON')
  }
  return pending.map(({ tag }) => tag)
}
