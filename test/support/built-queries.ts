import { afterAll, beforeAll } from 'bun:test'
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core'
import type { serverClient } from './api-keys.ts'

const { sqlToQuery } = SQLiteSyncDialect.prototype
const built: string[] = []

beforeAll(() => {
  SQLiteSyncDialect.prototype.sqlToQuery = function (this: SQLiteSyncDialect, ...args) {
    const query = sqlToQuery.apply(this, args)
    built.push(query.sql)
    return query
  }
})
afterAll(() => {
  SQLiteSyncDialect.prototype.sqlToQuery = sqlToQuery
})

/** E-mails are sent after the response. */
const MAIL_QUERIES = /"outbox" (where|set)|outbox.*limit|"mail_disabled"/

/** Sends a request; `count` is how often it has been sent, including this time. */
export type Ask = (count: number) => Promise<unknown>

/** The requests that a feature answers often, by name. */
export type Frequent = (context: {
  user: { _id: string }
  get: (path: string) => Ask
  change: (method: string, path: string, json: (count: number) => object) => Ask
  server: Awaited<ReturnType<typeof serverClient>>
}) => Record<string, Ask>

/** The query texts that each request still builds after the first times, by the request's name. */
export async function countBuilt(asks: Record<string, Ask>) {
  const counts: Record<string, string[]> = {}
  for (const [name, ask] of Object.entries(asks)) {
    for (let count = 1; count <= 3; count++) await ask(count)
    const texts: string[][] = []
    // A job may build a query at the same time.
    for (let count = 4; count <= 6; count++) {
      built.length = 0
      await ask(count)
      texts.push(built.filter((text) => !MAIL_QUERIES.test(text)))
    }
    if (!texts.some(({ length }) => length === 0)) counts[name] = texts[0] ?? []
  }
  return counts
}
