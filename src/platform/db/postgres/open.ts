import { createLastOutcome } from '../../../lib/last-outcome.ts'
import { HOUR_MS } from '../../../lib/time/durations.ts'
import type { Run } from '../compiled-query.ts'
import type { OpenDb, Reader } from '../db.ts'
import { createSharedCache } from './cached.ts'
import { asAppError, isStoreFailure } from './errors.ts'
import { createPool, END_TIME_LIMITS, type Pool } from './pool.ts'
import { createQueries } from './queries.ts'
import { createWriter } from './write.ts'

type PostgresDb<Tables> = OpenDb<Tables> & {
  isCopyUnfinished(): Promise<boolean>
  markCopyUnfinished(): Promise<void>
  markCopyFinished(): Promise<void>
}

/** Connections of one instance, besides two for an exclusive change and its lock. */
type Sizes = { reads: number; changes: number }

type Pools = { reads: Pool; changes: Pool } & AsyncDisposable

/** How long a statement may take. */
const DEADLINE_MS = 3_000
/** A slot further ahead was claimed while a clock was wrong; it would block every run until then. */
const MAX_SLOT_AHEAD_MS = HOUR_MS
/** A later slot replaces an earlier one; each is claimed once. A claim whose response was lost may be repeated. */
const CLAIM = `INSERT INTO timer_runs (name, slot, claim) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET slot = excluded.slot, claim = excluded.claim
WHERE timer_runs.slot < excluded.slot OR timer_runs.slot > excluded.slot + ${MAX_SLOT_AHEAD_MS}
OR timer_runs.claim = excluded.claim RETURNING name`
/** A copy made with pg_dump has a different id, even on the same server; a standby has the same. */
const IDENTIFY = `SELECT (SELECT system_identifier FROM pg_control_system()) || ':' || oid
FROM pg_database WHERE datname = current_database()`
const READ_CLOCK = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)'
/** Changes a row: a server may be read-only, after a failover or by its settings, and moved data refuses changes. */
const PROBE = `INSERT INTO shared_versions (name, version) VALUES ('probe', 0)
ON CONFLICT (name) DO UPDATE SET version = excluded.version`
/** A failover must be noticed quickly. */
const OUTCOME_LIFETIMES = { successMs: 2_000, failureMs: 5_000 }
/** An unfinished copy is marked among the shared versions. */
const FIND_COPY = "SELECT 1 FROM shared_versions WHERE name = 'copy'"
const BEGIN_COPY =
  "INSERT INTO shared_versions (name, version) VALUES ('copy', 0) ON CONFLICT DO NOTHING"
const END_COPY = "DELETE FROM shared_versions WHERE name = 'copy'"

/** Creates pools of `connections` in total to the server at `url`; they connect on first use. */
export function openPools(url: string, connections: number, deadline = DEADLINE_MS): Pools {
  const sizes = computeSizes(connections)
  const reads = createPool({ url, max: sizes.reads, deadline })
  const changes = createPool({ url, max: sizes.changes + 2, deadline })
  return {
    reads,
    changes,
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([reads.close(), changes.close()])
    },
  }
}

/** A quarter is for reads, because a change occupies its connection until it ends. */
function computeSizes(connections: number): Sizes {
  const reads = Math.max(1, Math.round(connections / 4))
  return { reads, changes: Math.max(1, connections - reads - 2) }
}

/** The data layer on a server whose schema is up to date. The pools are connected to `url`. */
export function createPostgresDb<Tables>(
  pools: Pools,
  { url, connections }: { url: string; connections: number },
  tables: Tables,
): PostgresDb<Tables> {
  const { reads, changes } = pools
  const read: Run = (query, params) =>
    reads.read(query, params).catch((error) => Promise.reject(asAppError(error)))
  const queries = createQueries(read)
  const writer = createWriter({ pool: changes, limit: computeSizes(connections).changes })
  const lastChange = createLastOutcome(OUTCOME_LIFETIMES, isStoreFailure)
  const { cached } = createSharedCache(queries, { read, change: writer.run })
  return {
    tables,
    read: queries,
    write: (work) => lastChange.observe(writer.write(work)),
    pauseBatches: () => Bun.sleep(1),
    prepareWrite: writer.prepareWrite,
    countAppended: (table) => queries.$count(table),
    cached,
    place: withoutPassword(url),
    identify: async () => String((await read(IDENTIFY, []))[0]?.[0]),
    size: async () =>
      Number((await read('SELECT pg_database_size(current_database())', []))[0]?.[0]),
    isShared: true,
    isCopyUnfinished: async () => (await changes.read(FIND_COPY, [])).length > 0,
    markCopyUnfinished: async () => void (await changes.read(BEGIN_COPY, [])),
    markCopyFinished: async () => void (await changes.read(END_COPY, [])),
    claimJob: (name, slot) => claimJob(changes, name, slot),
    clockSkew: (wall) => clockSkew(reads, wall),
    writeStats: writer.stats,
    // The server monitors its own disk.
    diskFailure: new Promise(() => {}),
    describeMisplaced: () => null,
    probe: () => lastChange.check(() => changes.read(PROBE, [])),
    readInBackground() {},
    dropCaches() {},
    // The server manages its own log.
    emptyLog: async () => {},
    stopWriting: writer.stop,
    close: async () => pools[Symbol.asyncDispose](),
  }
}

/** Reads from a snapshot of the database until `end` is called. */
export async function openSnapshot(pool: Pool): Promise<{ read: Reader; end: () => void }> {
  const connection = await pool.reserve()
  await connection.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', [])
  await connection.run(END_TIME_LIMITS, [])
  return { read: createQueries(connection.run), end: () => connection.release(true) }
}

async function claimJob(pool: Pool, name: string, slot: Date): Promise<boolean> {
  return (await pool.read(CLAIM, [name, slot.getTime(), crypto.randomUUID()])).length > 0
}

/** How far `wall` is ahead of the server's clock, in ms; 0 when it is less than the round trip. */
export async function clockSkew(pool: Pick<Pool, 'read'>, wall: () => number): Promise<number> {
  const sentAt = wall()
  const [[theirs] = []] = await pool.read(READ_CLOCK, [])
  const receivedAt = wall()
  const skew = (sentAt + receivedAt) / 2 - Number(theirs)
  return Math.abs(skew) > receivedAt - sentAt ? skew : 0
}

/** A sentence about settings with which a crash of the server loses confirmed changes; null if there are none. */
export async function unsafeSettings(pool: Pick<Pool, 'read'>): Promise<string | null> {
  const rows = await pool.read(
    "SELECT name FROM pg_settings WHERE name IN ('synchronous_commit', 'fsync', 'full_page_writes') AND setting = 'off' ORDER BY name",
    [],
  )
  if (rows.length === 0) return null
  return `${rows.join(', ')} off: a crash of the database server can lose changes that were confirmed. Turn it on for this role ("ALTER ROLE … SET"), database or server.`
}

/** The URL of a database without its password and query, for display. */
export function withoutPassword(url: string): string {
  const shown = new URL(url)
  // Part of a password that is not percent-encoded may be parsed as the path, which would be shown.
  if (shown.href.lastIndexOf('@') > shown.href.indexOf('/', shown.protocol.length + 2))
    return 'the server in the URL (percent-encode the password)'
  shown.password = ''
  shown.search = ''
  return shown.href
}
