import { Database, type DatabaseOptions, type SQLQueryBindings } from 'bun:sqlite'
import type { Migration } from '../migrations.ts'
import { DATABASE_MAGIC } from '../read-rows.ts'
import { schemaVersion } from './migrate.ts'
import { sqliteCode } from './storage-error.ts'

/** `Home` in ASCII: identifies our files among SQLite databases. */
const APPLICATION_ID = 0x486f6d65
const JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024
/** Per connection: fits the upper levels of all indexes of a million users, which 2 MiB would constantly reread. */
const CACHE_KIB = 16 * 1024

/** How long to wait for a process that is still closing the database: a killed server leaves its checkpoint process behind. */
const OPEN_TIMEOUT_MS = 5_000

/** Opens or creates the database at `path`. Its schema may be old: see `migrate`. */
export function openDatabase(path: string): Database {
  const client = openWaiting(path, { create: true, readwrite: true })
  setPragmas(client)
  client.run('PRAGMA journal_mode = WAL')
  client.run('PRAGMA synchronous = FULL')
  client.run(`PRAGMA journal_size_limit = ${JOURNAL_SIZE_LIMIT}`)
  // Overwrites deleted data, at no measurable cost.
  client.run('PRAGMA secure_delete = ON')
  // Until createDb knows which process copies the log.
  client.run('PRAGMA wal_autocheckpoint = 0')
  if (readApplicationId(client) !== APPLICATION_ID) {
    client.run(`PRAGMA application_id = ${APPLICATION_ID}`)
  }
  client.run('PRAGMA busy_timeout = 0')
  return client
}

function openWaiting(path: string, options: DatabaseOptions): Database {
  const client = new Database(path, options)
  client.run(`PRAGMA busy_timeout = ${OPEN_TIMEOUT_MS}`)
  return client
}

/** Opens the database at `path` for queries only. */
export function openReader(path: string): Database {
  const client = openWaiting(path, { readonly: true })
  setPragmas(client)
  client.run('PRAGMA busy_timeout = 0')
  return client
}

/** Runs a select that is used once. */
export function selectRows(client: Database, sql: string, params: unknown[]): unknown[][] {
  using statement = client.prepare(sql)
  return statement.values(...(params as SQLQueryBindings[]))
}

/** Says in a sentence why the file must not be opened; null if it may. Does not change the file. */
export async function explainCannotOpen(
  path: string,
  migrations: Migration[],
): Promise<string | null> {
  const file = Bun.file(path)
  if (!(await file.exists()) || file.size === 0) return null
  const header = new TextDecoder('latin1').decode(await file.slice(0, 16).arrayBuffer())
  if (header !== DATABASE_MAGIC) return foreignFileReason(path)
  using client = openWaiting(path, { readwrite: true })
  try {
    if (readApplicationId(client) !== APPLICATION_ID && !isEmpty(client))
      return foreignFileReason(path)
    if (schemaVersion(client) > migrations.length) {
      return `${path} was written by a newer version of Homeport: start that version, or restore a backup`
    }
  } catch (error) {
    const code = sqliteCode(error) ?? ''
    if (!/^SQLITE_(CORRUPT|NOTADB)/.test(code)) throw error
    return `${path} is damaged (${code}): restore it from a backup`
  }
  return null
}

function readApplicationId(client: Database): number {
  const row = client.query('PRAGMA application_id').get() as { application_id: number }
  return row.application_id
}

/** Tests whether the disk can be written, by writing an unchanged value. */
export function rewriteVersion(client: Database) {
  client.run(`PRAGMA user_version = ${schemaVersion(client)}`)
}

/** A server killed before its first migration leaves an empty database behind. */
function isEmpty(client: Database): boolean {
  return client.query('SELECT 1 FROM sqlite_master').get() === null
}

/**
 * Reads the whole database, which takes a second per gigabyte. Comparing indexes with tables would take forty times as
 * long, and is unnecessary for a copy with rebuilt indexes.
 */
export function isIntact(path: string): boolean {
  using client = new Database(path, { readonly: true })
  try {
    const [[answer]] = client.query('PRAGMA quick_check(1)').values() as [[string]]
    return answer === 'ok'
  } catch (error) {
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(sqliteCode(error) ?? '')) return false
    throw error
  }
}

/** The number of migrations applied to the database at `path`, which is opened read-only. */
export function countAppliedMigrations(path: string): number {
  using client = openWaiting(path, { readonly: true })
  return schemaVersion(client)
}

/** Writes a copy of the database with rebuilt indexes to `path`, without syncing it. */
export function copyDatabase(client: Database, path: string) {
  client.run('VACUUM INTO ?', [path])
}

/** Copies a database that another process has open and writes to. */
export function copyOpenDatabase(from: string, to: string) {
  using client = new Database(from, { readonly: true })
  copyDatabase(client, to)
}

/** Copies the log of the database at `path` into its file. Throws while another process uses it. */
export function checkpointLog(path: string) {
  using client = new Database(path, { readwrite: true })
  const { busy } = client.query('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  if (busy !== 0) throw new Error(`the log of ${path} is in use`)
}

/** Whether Litestream has ever replicated the database. */
export function isReplicated(client: Database): boolean {
  return client.query("SELECT 1 FROM sqlite_master WHERE name = '_litestream_seq'").get() !== null
}

function foreignFileReason(path: string): string {
  return `${path} is damaged or not a Homeport database: restore it from a backup`
}

function setPragmas(client: Database) {
  for (const pragma of [
    'foreign_keys = ON',
    'trusted_schema = OFF',
    'cell_size_check = ON',
    'mmap_size = 0',
    'temp_store = MEMORY',
    `cache_size = ${-CACHE_KIB}`,
  ]) {
    client.run(`PRAGMA ${pragma}`)
  }
}
