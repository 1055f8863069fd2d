import { sql } from 'drizzle-orm'
import { postgresColumns } from './columns.ts'

/** Tables that several instances share; SQLite has one process and does not need them. */
export function sharedTables() {
  const { table, text, int, ms } = postgresColumns

  /** Counts the changes to each value that instances cache. */
  const sharedVersions = table('shared_versions', {
    name: text().primaryKey(),
    version: int().notNull(),
  })

  /** The last slot that was claimed for each job. */
  const timerRuns = table('timer_runs', {
    name: text().primaryKey(),
    slot: ms().notNull(),
    /** Identifies the claim, so that it can be repeated. */
    claim: text().notNull(),
  })

  /** Generated keys, each sealed by `SECRET_KEY`. */
  const sharedSecrets = table('shared_secrets', {
    name: text().primaryKey(),
    content: text().notNull(),
    version: int().notNull().default(sql`1`),
  })

  return { sharedVersions, timerRuns, sharedSecrets }
}
