import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assetPath } from '../../lib/files/asset-path.ts'

export type Migration = { tag: string; statements: string[] }

/** drizzle-kit writes this schema before tables that a foreign key refers to; `search_path` may name another one. */
const DEFAULT_SCHEMA = '"public".'

/** In order, as drizzle-kit generated them. */
export function readMigrations(engine: 'sqlite' | 'postgres'): Migration[] {
  const folder = join(assetPath('drizzle'), engine)
  const journal = JSON.parse(readFileSync(join(folder, 'meta', '_journal.json'), 'utf8'))
  return journal.entries.map(({ tag }: { tag: string }) => ({
    tag,
    statements: readFileSync(join(folder, `${tag}.sql`), 'utf8')
      .replaceAll(DEFAULT_SCHEMA, '')
      .split('--> statement-breakpoint'),
  }))
}
