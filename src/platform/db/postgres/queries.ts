import type { Query, SQL } from 'drizzle-orm'
import { PgDatabase, PgDialect, PgSession } from 'drizzle-orm/pg-core'
import { createAsyncQuery, type Fields, type Run } from '../compiled-query.ts'
import type { Tx } from '../db.ts'

type Queries = Omit<Tx, 'attempt' | 'afterCommit'>

const dialect = new PgDialect({ casing: 'snake_case' })

/** drizzle over `run`. Encoders and decoders are prepared once per query, and errors never contain queries. */
export function createQueries(run: Run): Queries {
  const session = new RunSession(run)
  return new PgDatabase(dialect, session as never, undefined) as unknown as Queries
}

class RunSession extends PgSession {
  readonly #run: Run

  constructor(run: Run) {
    super(dialect)
    this.#run = run
  }

  // biome-ignore lint/suspicious/noExplicitAny: drizzle exports no type for this
  override prepareQuery(query: Query, fields: unknown): any {
    return createAsyncQuery(this.#run, query, fields as Fields | undefined)
  }

  override transaction(): never {
    throw new Error('use db.write()')
  }

  override async count(query: SQL): Promise<number> {
    const { sql, params } = dialect.sqlToQuery(query)
    const [[count] = []] = await this.#run(sql, params)
    return Number(count)
  }
}
