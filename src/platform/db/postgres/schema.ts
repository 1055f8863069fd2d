import { sql } from 'drizzle-orm'
import { postgresColumns } from './columns.ts'

/** What several instances share beside the tables of features. SQLite has one process and needs none of it. */
export function sharedTables() {
  const { table, text, int, ms } = postgresColumns

  /** Counts the changes of each value that instances keep in memory. */
  const sharedVersions = table('shared_versions', {
    name: text().primaryKey(),
    version: int().notNull(),
  })

  /** The last time for which somebody ran a timer. */
  const timerRuns = table('timer_runs', {
    name: text().primaryKey(),
    slot: ms().notNull(),
    /** Tells who asked for the slot from others. */
    claim: text().notNull(),
  })

  /** Keys that nobody sets, each sealed by `SECRET_KEY`. */
  const sharedSecrets = table('shared_secrets', {
    name: text().primaryKey(),
    content: text().notNull(),
    version: int().notNull().default(sql`1`),
  })

  return { sharedVersions, timerRuns, sharedSecrets }
}
