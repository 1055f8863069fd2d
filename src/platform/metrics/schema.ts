import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'
import type { Buckets } from './histogram.ts'

export type HistoryDb = Db<ReturnType<typeof historyTables>>

/** The traffic of an instance in a minute or an hour. Response times in ms, memory in bytes. */
export type Sample = {
  requests: number
  /** Responses with status 500 and above. */
  errors: number
  p50: number
  p99: number
  events: number
  writes: number
  memory: number
  /** The response times; missing in samples of earlier versions. */
  times?: Buckets
  /** How many minutes it covers; missing in samples of one minute. */
  minutes?: number
}

/** What was counted under one name: requests to an endpoint, attempts of a webhook, or billing events. */
export type Tally = {
  count: number
  /** 4xx responses, attempts that are retried, or conflicting events. */
  soft: number
  /** 5xx responses, deliveries given up, or events that could not be applied. */
  hard: number
  /** Response times in ms; of billing events the delays in seconds. */
  times: Buckets
}

/** The tallies of an instance over some minutes, by name. */
export type TallySet = { minutes: number; tallies: Record<string, Tally> }

type Start = { version: string }

type Spans = {
  minute: Sample
  hour: Sample
  'tallies 5m': TallySet
  'tallies 1h': TallySet
  start: Start
}

export type Span = keyof Spans
export type ValuesOf<S extends Span> = Spans[S]

export function historyTables(columns: Columns) {
  const { table, text, ms, json, primaryKey } = columns

  const samples = table(
    'samples',
    {
      /** A `Span`: the length of the time, and the kind of values. */
      span: text().notNull(),
      at: ms().notNull(),
      /** The instance's name; empty for a single instance. */
      instance: text().notNull(),
      values: json<Spans[Span]>().notNull(),
    },
    (t) => [primaryKey({ columns: [t.span, t.at, t.instance] })],
  )

  return { samples }
}
