import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type HistoryDb = Db<ReturnType<typeof historyTables>>

/** What an instance did in a minute or an hour. Times in ms, memory in bytes. */
export type Sample = {
  requests: number
  /** Replies of 500 and above. */
  errors: number
  p50: number
  p99: number
  /** Billing events that came. */
  events: number
  /** Changes of the database. */
  writes: number
  memory: number
}

/** How the service was, kept small: minutes for a day, hours for thirty. */
export function historyTables(columns: Columns) {
  const { table, text, ms, json, primaryKey } = columns

  const samples = table(
    'samples',
    {
      /** `minute` or `hour`. */
      span: text().notNull(),
      /** When it began. */
      at: ms().notNull(),
      /** Which of several; empty for one alone. */
      instance: text().notNull(),
      values: json<Sample>().notNull(),
    },
    (t) => [primaryKey({ columns: [t.span, t.at, t.instance] })],
  )

  return { samples }
}
