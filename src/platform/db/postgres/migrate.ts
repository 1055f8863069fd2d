import { MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Migration } from '../migrations.ts'
import { DatabaseRefusal, LOCK_NOT_AVAILABLE, sqlState } from './errors.ts'
import { type Connection, END_TIME_LIMITS, type Pool } from './pool.ts'

/** The key of the advisory lock under which one instance migrates while others wait. */
const LOCK_KEY = 0x6d696772
/** Long enough to migrate a large database, in ms. */
const MIGRATION_TIMEOUT_MS = 30 * MINUTE_MS

/** While a migration waits for a table, so do all later statements on it, including those of running instances. */
const LOCK_TIMEOUT = '200ms'
const LOCK_RETRY_MS = 5_000
/** New tables go to the schema of the existing ones, even if a schema with the role's name was created since. */
const STAY_IN_SCHEMA = `SELECT set_config('search_path', relnamespace::regnamespace::text, true)
FROM pg_class WHERE oid = to_regclass('homeport')`
/** A publication for all tables refuses changes to tables without a primary key; earlier versions created none here. */
const KEY =
  'ALTER TABLE homeport DROP CONSTRAINT IF EXISTS homeport_pkey, ADD PRIMARY KEY (version)'

/**
 * Applies all pending migrations or none, and returns their tags. `permit` gets the number applied and may throw;
 * `onWait` is called if a long transaction uses the tables. Throws `DatabaseRefusal`, including after `patience` ms.
 */
export async function migrate(
  pool: Pool,
  migrations: Migration[],
  permit: (applied: number) => void = () => {},
  onWait: () => void = () => {},
  patience = MIGRATION_TIMEOUT_MS,
): Promise<string[]> {
  const end = performance.now() + patience
  for (let attempts = 0; ; attempts++) {
    try {
      return await migrateNow(pool, migrations, permit)
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
      if (performance.now() > end) throw inUse()
    }
    if (attempts === 0) onWait()
    await Bun.sleep(LOCK_RETRY_MS)
  }
}

async function migrateNow(
  pool: Pool,
  migrations: Migration[],
  permit: (applied: number) => void,
): Promise<string[]> {
  const connection = await pool.reserve()
  let isBroken = true
  try {
    await connection.run('BEGIN', [])
    await connection.run(END_TIME_LIMITS, [])
    await connection.run(`SELECT pg_advisory_xact_lock(${LOCK_KEY})`, [], MIGRATION_TIMEOUT_MS)
    await connection.run(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`, [])
    await connection.run(STAY_IN_SCHEMA, [])
    const applied = await countAppliedMigrations(connection)
    const pending = migrations.slice(applied)
    if (applied === 0 && pending.length > 0) {
      await assertNoForeignTables(connection)
      await assertUtf8(connection)
    }
    permit(applied)
    for (const { statements } of pending)
      for (const statement of statements) await connection.run(statement, [], MIGRATION_TIMEOUT_MS)
    if (pending.length > 0) {
      await connection.run('CREATE TABLE IF NOT EXISTS homeport (version integer NOT NULL)', [])
      await connection.run(KEY, [])
      await connection.run('DELETE FROM homeport', [])
      await connection.run(`INSERT INTO homeport VALUES (${migrations.length})`, [])
    }
    await connection.run('COMMIT', [])
    isBroken = false
    return pending.map(({ tag }) => tag)
  } finally {
    connection.release(isBroken)
  }
}

export async function countAppliedMigrations({ run }: Pick<Connection, 'run'>): Promise<number> {
  const [[found] = []] = await run("SELECT to_regclass('homeport') IS NOT NULL", [])
  if (found !== true) return 0
  const [[version] = []] = await run('SELECT version FROM homeport', [])
  return Number(version ?? 0)
}

async function assertNoForeignTables({ run }: Connection) {
  const [[count] = []] = await run(
    'SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()',
    [],
  )
  if (Number(count) === 0) return
  throw new DatabaseRefusal(
    'The database contains tables of another program: create a separate one for Homeport with CREATE DATABASE.',
  )
}

/** Other encodings cannot store every text that users may send. */
async function assertUtf8({ run }: Connection) {
  const [[encoding] = []] = await run("SELECT current_setting('server_encoding')", [])
  if (encoding === 'UTF8') return
  throw new DatabaseRefusal(
    `The database's encoding is ${encoding}: create one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
  )
}

function inUse(): DatabaseRefusal {
  return new DatabaseRefusal(
    'A long transaction, such as a backup, uses the database, so its schema cannot be updated: try again once it has ended.',
  )
}
