import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { getTableColumns } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { openData } from '../../../src/cli/data/open-data.ts'
import { readConfig } from '../../../src/config/config.ts'
import { createLog } from '../../../src/lib/log/log.ts'
import type { Services } from '../../../src/server/services.ts'
import { addBilling, addLongHistories } from './large-billing.ts'
import { addUsers } from './large-users.ts'

/** The amount of data; `FULL` is the size in docs/internal/measurements.md. */
export type Size = {
  users: number
  events: number
  purchases: number
  attachments: number
  /** Attachments that have a file. */
  files: number
}

export const FULL: Size = {
  users: 1_000_000,
  events: 10_000_000,
  purchases: 1_200_000,
  attachments: 2_000_000,
  files: 10_000,
}

/** A fraction of the full size. */
export function sizeOf(share: number): Size {
  const entries = Object.entries(FULL).map(([name, count]) => [name, Math.round(count * share)])
  return Object.fromEntries(entries) as Size
}

export type Tables = Services['db']['tables']

/** Inserts a row into a table, encoding each column as the server does. */
export type Insert = <T extends SQLiteTable>(table: T, row: T['$inferInsert']) => void

/** Fills a new data directory in bulk with the rows that the services would write. */
export async function makeLargeData(
  dataDir: string,
  size: Size,
  logProgress: (text: string) => void,
) {
  const config = readConfig({}, { DATA_DIR: dataDir, RATES_PROVIDER: 'off', RATE_LIMITS: 'off' })
  const tables = await withServices(config, async ({ db }) => db.tables)
  using db = new Database(join(dataDir, 'homeport.db'))
  db.run('PRAGMA synchronous=OFF')
  db.run('PRAGMA cache_size=-1000000')
  const insert = createInsert(db)
  await inTransactions(db, addUsers(tables, insert, size, dataDir), logProgress)
  await inTransactions(db, addBilling(tables, insert, size), logProgress)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  await withServices(config, async (services) => {
    await addLongHistories(services, size, logProgress)
    // Otherwise they would run while the server is measured.
    const { signal } = new AbortController()
    await services.accessStates.followPlans(signal)
    await services.users.lastSeen.backfill(signal)
    await services.transactions.backfill(signal)
    await services.counting.rebuild(signal)
  })
}

async function withServices<T>(
  config: ReturnType<typeof readConfig>,
  work: (services: Services) => Promise<T>,
): Promise<T> {
  await using data = await openData(config, createLog('error'))
  return await work(data.services)
}

/** Commits at every progress report of the work. */
async function inTransactions(
  db: Database,
  work: AsyncGenerator<string> | Generator<string>,
  logProgress: (text: string) => void,
) {
  db.run('BEGIN')
  for await (const progress of work) {
    db.run('COMMIT')
    logProgress(progress)
    db.run('BEGIN')
  }
  db.run('COMMIT')
}

function createInsert(db: Database): Insert {
  const writers = new Map<SQLiteTable, (row: Record<string, unknown>) => void>()
  return (table, row) => {
    const write = writers.get(table) ?? prepare(db, table)
    writers.set(table, write)
    write(row as Record<string, unknown>)
  }
}

function prepare(db: Database, table: SQLiteTable) {
  const columns = Object.entries(getTableColumns(table)).map(([key, column]) => {
    return { key, name: snakeCase(column.keyAsName ? key : column.name), column }
  })
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  const placeholders = columns.map(() => '?').join(', ')
  const tableName = (table as unknown as Record<symbol, string>)[Symbol.for('drizzle:Name')]
  const statement = db.prepare(`INSERT INTO "${tableName}" (${names}) VALUES (${placeholders})`)
  return (row: Record<string, unknown>) => {
    const values = columns.map(({ key, column }) => {
      const value = row[key]
      return value === undefined || value === null ? null : column.mapToDriverValue(value)
    })
    statement.run(...(values as (string | number | Uint8Array | null)[]))
  }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
