import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { readMigrations } from '../../../src/platform/db/migrations.ts'
import { migrate } from '../../../src/platform/db/sqlite/migrate.ts'
import { openDatabase } from '../../../src/platform/db/sqlite/open.ts'
import { printTable } from './report.ts'
import type { Side, Sides } from './sides.ts'

const TABLES = ['users', 'subscriptions']
/** Inserts a row without a parent, which makes every migration roll back at its very end. */
const ADD_ORPHAN = "INSERT INTO known_devices (user_id, device, seen_at) VALUES ('nobody', '', 0)"

/** Prints how long schema changes take. All of them are rolled back. */
export function benchMigrations({ large, empty }: Sides) {
  const emptyResults = measureMigrations(empty)
  const rows = measureMigrations(large).map(({ name, ms, rows }, at) => {
    const other = emptyResults[at] ?? { ms: 0, rows: 0 }
    return [
      name,
      (ms / 1000).toFixed(2),
      rate(rows, ms),
      (other.ms / 1000).toFixed(3),
      rate(other.rows, other.ms),
    ]
  })
  printTable('Migrations', ['', 'large, s', 'rows/s', 'empty, s', 'rows/s'], rows)
}

function measureMigrations({ dataDir }: Side) {
  using client = openDatabase(join(dataDir, 'homeport.db'))
  const changes = [
    { name: 'foreign key check only', table: 'users', statements: [] },
    ...TABLES.flatMap((table) => [
      { name: `create index on ${table}`, table, statements: [createIndexSql(client, table)] },
      { name: `rebuild ${table}`, table, statements: rebuildTableSql(client, table) },
    ]),
  ]
  return changes.map(({ name, table, statements }) => {
    const { rows } = client.query(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }
    const start = performance.now()
    migrateAndRollBack(client, statements)
    return { name, rows, ms: performance.now() - start }
  })
}

function migrateAndRollBack(client: Database, statements: string[]) {
  const known = readMigrations('sqlite')
  try {
    migrate(client, [...known, { tag: 'bench', statements: [...statements, ADD_ORPHAN] }])
  } catch (error) {
    if (!String(error).includes('without a parent')) throw error
  }
}

function createIndexSql(client: Database, table: string): string {
  const columns = client.query(`PRAGMA table_info(${table})`).all() as { name: string }[]
  return `CREATE INDEX bench_index ON ${table} (${columns[1]?.name}, ${columns[0]?.name})`
}

/** The statements that rebuild a table (https://www.sqlite.org/lang_altertable.html#otheralter). */
function rebuildTableSql(client: Database, table: string): string[] {
  const schemaObjects = client
    .query('SELECT type, sql FROM sqlite_master WHERE tbl_name = ? AND sql NOT NULL')
    .all(table) as { type: string; sql: string }[]
  const createTable = schemaObjects.find(({ type }) => type === 'table')?.sql ?? ''
  return [
    createTable.replace(new RegExp(`^CREATE TABLE [\`"]?${table}[\`"]?`), 'CREATE TABLE bench_new'),
    `INSERT INTO bench_new SELECT * FROM ${table}`,
    `DROP TABLE ${table}`,
    `ALTER TABLE bench_new RENAME TO ${table}`,
    ...schemaObjects.filter(({ type }) => type === 'index').map(({ sql }) => sql),
  ]
}

function rate(rows: number, ms: number): string {
  return (rows / (ms / 1000)).toFixed(0)
}
