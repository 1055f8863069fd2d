import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type HistoryDb = Db<ReturnType<typeof historyTables>>

/** The traffic of an instance in a minute or an hour. Response times in ms, memory in bytes. */
export type Sample = {
  requests: number
  /** Replies with status 500 and above. */
  errors: number
  p50: number
  p99: number
  /** Received billing events. */
  events: number
  /** Committed changes. */
  writes: number
  memory: number
}

/** The tables of the traffic history. */
export function historyTables(columns: Columns) {
  const { table, text, ms, json, primaryKey } = columns

  const samples = table(
    'samples',
    {
      /** `minute` or `hour`. */
      span: text().notNull(),
      /** When the minute or hour began. */
      at: ms().notNull(),
      /** The instance's name; empty for a single instance. */
      instance: text().notNull(),
      values: json<Sample>().notNull(),
    },
    (t) => [primaryKey({ columns: [t.span, t.at, t.instance] })],
  )

  return { samples }
}
