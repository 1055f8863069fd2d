import { Database } from 'bun:sqlite'

/** The first bytes of every SQLite database. */
export const DATABASE_MAGIC = 'SQLite format 3\0'

/** The rows of a foreign SQLite database, read one by one, by the first of `queries` that matches its tables. */
export function* readRows(path: string, queries: string[]): Generator<Record<string, unknown>> {
  using client = new Database(path, { readonly: true })
  for (const [at, query] of queries.entries()) {
    try {
      using statement = client.prepare(query)
      yield* statement.iterate() as IterableIterator<Record<string, unknown>>
      return
    } catch (error) {
      const isOtherSchema = /no such (table|column)/.test((error as Error).message)
      if (!isOtherSchema || at === queries.length - 1) throw error
    }
  }
}
